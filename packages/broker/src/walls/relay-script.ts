/**
 * The part of a script that passes connections to the socket at `path`, which the host's relay serves. `kept` lists the
 * descriptors of the program, which `run` starts and ends with. It defines `server`, which does not listen yet.
 */
export const PASS_CONNECTIONS = `
const { connect, createServer } = require('node:net')
const { spawn } = require('node:child_process')
const descriptors = kept.split(',').map(Number)
const stdio = Array.from({ length: Math.max(...descriptors) + 1 }, (_, fd) => descriptors.includes(fd) ? fd : 'ignore')
const server = createServer({ allowHalfOpen: true }, (client) => {
  const relay = connect({ path, allowHalfOpen: true })
  client.on('error', () => relay.destroy()).pipe(relay)
  relay.on('error', () => client.destroy()).pipe(client)
})
const run = (env) => {
  const child = spawn(program, args, { stdio, env })
  child.on('error', ({ message }) => { console.error(message); process.exit(127) })
  child.on('exit', (code, signal) => {
    if (signal) process.kill(process.pid, signal)
    // Node survives some signals, such as SIGPIPE.
    process.exit(code ?? 128 + require('node:os').constants.signals[signal])
  })
}`
