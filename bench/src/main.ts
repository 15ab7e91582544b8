import { fileURLToPath } from 'node:url'
import { runCommand } from './command.ts'

process.exitCode = await runCommand(process.argv.slice(2), {
  subjects: new URL('./subjects/', import.meta.url),
  latest: fileURLToPath(new URL('../latest.json', import.meta.url)),
  stdout: process.stdout,
  stderr: process.stderr,
})
// A side that failed may hold the process open for ever. One that was stopped well must not, so that case ends by itself.
if (process.exitCode !== 0) process.exit()
