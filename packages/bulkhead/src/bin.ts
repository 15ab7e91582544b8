#!/usr/bin/env node
// Everything else is imported only once the version is known to be good, so that an old Node can say what is wrong.
import { nodeVersionFault } from '@bulkhead/kit/node-version'

const fault = nodeVersionFault()
if (fault !== undefined) {
  process.stderr.write(`${fault}\n`)
  process.exitCode = 2
} else {
  // Whoever reads no further, as `head` does, has had enough: that is no fault of the command. What is lost to a full disk is.
  let lost: Error | undefined
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE' && lost === undefined) lost = error
  })
  process.stderr.on('error', () => {})
  process.on('exit', () => {
    if (lost === undefined) return
    process.stderr.write(`What was to be printed could not be: ${lost.message}. What the command does is done; only its words are lost.\n`)
    process.exitCode = 1
  })
  const [{ main }, { keepCompiledCode }] = await Promise.all([import('./cli/main.ts'), import('./cli/compiled-code.ts')])
  process.exitCode = await main(process.argv.slice(2), keepCompiledCode)
}
