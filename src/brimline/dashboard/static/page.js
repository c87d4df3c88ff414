// Point at a chart, open a request, follow a session that is still running. All else is plain HTML.
"use strict";

const main = document.getElementById("main");
// The request that somebody pointed at; the last one where nobody did.
let chosen = Infinity;

function follow(charts) {
  const columns = JSON.parse(charts.dataset.columns);
  const readout = charts.querySelector("[data-readout]");
  let at = columns.length - 1;

  function show(next) {
    at = Math.max(0, Math.min(columns.length - 1, next));
    chosen = columns[at][0];
    readout.textContent = columns[at][1];
    for (const svg of charts.querySelectorAll(".plot svg")) {
      const left = Number(svg.dataset.left);
      const x = left + ((Number(svg.dataset.width) - left) * (at + 0.5)) / columns.length;
      const line = svg.querySelector(".cursor");
      line.setAttribute("x1", x);
      line.setAttribute("x2", x);
    }
  }

  function pointed(event) {
    const svg = event.target.closest(".plot svg");
    if (!svg) return false;
    const box = svg.getBoundingClientRect();
    const left = Number(svg.dataset.left);
    const x = ((event.clientX - box.left) / box.width) * Number(svg.dataset.width);
    show(Math.floor(((x - left) / (Number(svg.dataset.width) - left)) * columns.length));
    return true;
  }

  charts.addEventListener("pointermove", pointed);
  charts.addEventListener("click", (event) => {
    if (pointed(event)) open(charts.dataset, chosen);
  });
  charts.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -1e9, End: 1e9 };
    if (event.key in steps) {
      event.preventDefault();
      show(at + steps[event.key]);
    } else if (event.key === "Enter") {
      open(charts.dataset, columns[at][0]);
    }
  });
  if (chosen < Infinity) {
    const number = chosen;
    const kept = columns.findIndex((column) => column[0] >= number);
    show(kept < 0 ? columns.length - 1 : kept);
    chosen = number;
  }
}

async function open({ address }, number) {
  const detail = document.getElementById("detail");
  if (!address || !detail) return;
  const answer = await fetch(`${address}${number}`);
  if (!answer.ok) return;
  detail.replaceChildren(...content(await answer.text()));
  detail.hidden = false;
  detail.scrollIntoView({ block: "nearest" });
}

function content(html) {
  const page = new DOMParser().parseFromString(html, "text/html");
  return [...page.getElementById("main").childNodes];
}

// A page is made anew on the server when its session has grown; what is open and focused stays so.
async function renew() {
  if (document.hidden) return;
  const asked = fetch(location.href, { headers: { "X-Stamp": main.dataset.live } });
  const answer = await asked.catch(() => null);
  if (answer === null || answer.status === 403) return ended("The dashboard has ended");
  if (answer.status === 404) return ended("This session is gone or cannot be read");
  if (answer.status !== 200) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = page.getElementById("main");
  const detail = document.getElementById("detail");
  const empty = fresh.querySelector("#detail");
  const focused = document.activeElement;
  const place = alike(focused).indexOf(focused);
  if (detail && empty) empty.replaceWith(detail);
  for (const one of main.querySelectorAll("details[open]")) {
    const same = [...fresh.querySelectorAll("details")].find((other) => name(other) === name(one));
    if (same) same.open = true;
  }
  main.replaceChildren(...fresh.childNodes);
  main.dataset.live = fresh.dataset.live || "";
  start();
  if (place >= 0) (alike(focused)[place] || main).focus({ preventScroll: true });
}

// What can be focused, and is the same to who reads it.
function alike(one) {
  const every = [...main.querySelectorAll("a, summary, pre, input, select, button, .charts")];
  return every.filter((other) => other === one || name(other) === name(one));
}

function name(one) {
  return one.getAttribute("href") || one.name || one.querySelector("summary")?.textContent || one.className || one.textContent;
}

// One after the other: a large session may take longer than the pause.
async function watch() {
  await renew().catch(() => null);
  if (main.dataset.live) setTimeout(watch, 2000);
}

function ended(what) {
  main.dataset.live = "";
  const told = document.createElement("p");
  told.className = "empty";
  told.role = "status";
  told.textContent = `${what}; this page is as it was then.`;
  main.prepend(told);
}

function start() {
  const charts = main.querySelector(".charts[data-columns]");
  if (charts) follow(charts);
  for (const form of main.querySelectorAll("form.filter[method=get]")) {
    form.addEventListener("change", () => form.requestSubmit());
  }
}

start();
if (main.dataset.live) setTimeout(watch, 2000);
if (document.querySelector("[data-busy]")) setTimeout(() => location.reload(), 2000);
