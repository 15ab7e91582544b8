import { enableCompileCache } from 'node:module'
import { join } from 'node:path'

// The compile cache halves the time of the next start. It must be enabled before other modules are imported.
enableCompileCache(join(import.meta.dirname, '../../../node_modules/.cache/compiled'))

const print = (line: string) => process.stdout.write(`${line}\n`)
print('Bulkhead demo: a scripted agent calls real tools. It needs no API key and no network.')

const { playDemo } = await import('./demo.ts')
const { createReporter } = await import('./reporter.ts')
const failed = await playDemo(createReporter(print, process.stdout.columns))
if (failed === 0) {
  print(`
All scenarios passed. Try next:
  ./node_modules/.bin/bulkhead tools --home apps/demo/extensions          list the tools and their permissions
  ./node_modules/.bin/bulkhead explain sink --home apps/demo/extensions   show whether a call would be allowed, and why
  ./node_modules/.bin/bulkhead new my-tool                                create your own extension
Start reading at README.md.`)
} else {
  print(`\n${failed} scenarios failed.`)
}
process.exitCode = failed === 0 ? 0 : 1
