// Point at a chart, open a request, follow a session that is still running. All else is plain HTML.
"use strict";

const main = document.getElementById("main");

function follow(charts) {
  const columns = JSON.parse(charts.dataset.columns);
  const readout = charts.querySelector("[data-readout]");
  let at = columns.length - 1;

  function show(next) {
    at = Math.max(0, Math.min(columns.length - 1, next));
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
    if (pointed(event)) open(charts.dataset.session, columns[at][0]);
  });
  charts.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -1e9, End: 1e9 };
    if (event.key in steps) {
      event.preventDefault();
      show(at + steps[event.key]);
    } else if (event.key === "Enter") {
      open(charts.dataset.session, columns[at][0]);
    }
  });
}

async function open(session, number) {
  const detail = document.getElementById("detail");
  if (!session || !detail) return;
  const answer = await fetch(`/session/${session}/request/${number}`, { headers: { "X-Part": "1" } });
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
  if (document.hidden || !main.dataset.live) return;
  const asked = fetch(location.href, { headers: { "X-Stamp": main.dataset.live } });
  const answer = await asked.catch(() => null);
  if (answer === null) return ended();
  if (answer.status !== 200) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = page.getElementById("main");
  const detail = document.getElementById("detail");
  const empty = fresh.querySelector("#detail");
  const focused = main.querySelector(".charts")?.contains(document.activeElement);
  if (detail && empty) empty.replaceWith(detail);
  main.replaceChildren(...fresh.childNodes);
  main.dataset.live = fresh.dataset.live || "";
  start();
  if (focused) main.querySelector(".charts")?.focus({ preventScroll: true });
}

// One after the other: a large session may take longer than the pause.
async function watch() {
  await renew().catch(() => null);
  setTimeout(watch, 2000);
}

function ended() {
  delete main.dataset.live;
  const told = document.createElement("p");
  told.className = "empty";
  told.textContent = "The dashboard has ended; this page is as it was then.";
  main.prepend(told);
}

function start() {
  const charts = main.querySelector(".charts[data-columns]");
  if (charts) follow(charts);
}

start();
if (main.dataset.live) setTimeout(watch, 2000);
if (document.querySelector("[data-busy]")) setTimeout(() => location.reload(), 2000);
for (const form of document.querySelectorAll("form.filter")) {
  form.addEventListener("change", () => form.requestSubmit());
}
