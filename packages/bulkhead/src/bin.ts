#!/usr/bin/env node
// Check the version before any other import, so that an old Node prints a clear error.
import { nodeVersionFault } from '@bulkhead/kit/node-version'

const fault = nodeVersionFault()
if (fault !== undefined) {
  process.stderr.write(`${fault}\n`)
  process.exitCode = 2
} else {
  // EPIPE is not an error: a reader such as `head` may close the pipe early. Any other error, such as a full disk, is.
  let lost: Error | undefined
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE' && lost === undefined) lost = error
  })
  process.stderr.on('error', () => {})
  process.on('exit', () => {
    if (lost === undefined) return
    process.stderr.write(
      `Cannot write to standard output: ${lost.message}. The command itself has finished; only its output is lost.\n`,
    )
    process.exitCode = 1
  })
  const [{ main }, { keepCompiledCode }] = await Promise.all([import('./cli/main.ts'), import('./facade/compiled-code.ts')])
  process.exitCode = await main(process.argv.slice(2), keepCompiledCode)
}
