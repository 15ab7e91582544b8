#!/usr/bin/env node
// Plain enough for any Node to read, so that an old one is told what to do instead of failing on syntax.
const major = Number(process.versions.node.split('.')[0])
if (major < 26) {
  process.stderr.write(`bulkhead needs Node 26 or newer, because older ones cannot take the network away from a tool. This is ${process.version}.\n`)
  process.exitCode = 2
} else {
  // Whoever reads no further, as `head` does, has had enough: that is no fault of the command. What is lost to a full disk is.
  let lost: Error | undefined
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') lost ??= error
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

export {}
