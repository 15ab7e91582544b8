import { enableCompileCache } from 'node:module'
import { join } from 'node:path'

// Keeping compiled code halves the time of the next start. Everything else is imported after this.
enableCompileCache(join(import.meta.dirname, '../../../node_modules/.cache/compiled'))

const print = (line: string) => process.stdout.write(`${line}\n`)
print('Bulkhead demo: a scripted agent calls real tools. It needs no API key and no network.')

const { playDemo } = await import('./demo.ts')
const { printedStory } = await import('./story.ts')
const failed = await playDemo(printedStory(print, process.stdout.columns))
if (failed === 0) {
  print(`
Every scenario went as it should. Try next:
  ./node_modules/.bin/bulkhead tools --home apps/demo/extensions          what each tool may do
  ./node_modules/.bin/bulkhead explain sink --home apps/demo/extensions   whether a call would be allowed, and why
  ./node_modules/.bin/bulkhead new my-tool                                start an extension of your own
The docs begin in README.md.`)
} else {
  print(`\n${failed} scenarios did not go as they should.`)
}
process.exitCode = failed === 0 ? 0 : 1
