import process from 'node:process'

/** Debuggers look here first. */
const USUAL_PORT = 9229
const LOOPBACK = '127.0.0.1'

/**
 * Opens the debugger of this thread, and of no other. It listens on the loopback interface only. Node writes its
 * address to standard error of the process. Called before lockdown.
 */
export function openInspector(): void {
  const { open, url } = process.getBuiltinModule('node:inspector')
  open(USUAL_PORT, LOOPBACK)
  // Another debugger has the usual port.
  if (url() === undefined) open(0, LOOPBACK)
}
