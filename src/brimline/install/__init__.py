"""The installer: wires brimline into the client's settings and checks the wiring."""
