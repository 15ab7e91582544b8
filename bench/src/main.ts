import { fileURLToPath } from 'node:url'
import { runCommand } from './command.ts'

process.exitCode = await runCommand(process.argv.slice(2), {
  subjects: new URL('./subjects/', import.meta.url),
  latest: fileURLToPath(new URL('../latest.json', import.meta.url)),
  stdout: process.stdout,
  stderr: process.stderr,
})
// A failed side may keep the process alive. After success nothing may be left, so the process must end without this.
if (process.exitCode !== 0) process.exit()
