import { enableCompileCache } from 'node:module'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

// The compile cache halves the time of the next start. It must be enabled before other modules are imported.
enableCompileCache(join(import.meta.dirname, '../../../node_modules/.cache/compiled'))

const { values: { exit = false, columns } } =
  parseArgs({ options: { exit: { type: 'boolean' }, columns: { type: 'string' } } })
// Where no one looks, such as in CI, it ends with the story.
const stays = process.stdout.isTTY && !process.env['CI'] && !exit

const print = (line: string) => process.stdout.write(`${line}\n`)
print('Bulkhead demo: a scripted agent calls real tools. It needs no API key and no network.')

const [{ playDemo }, { createReporter }, { openStage }] =
  await Promise.all([import('./demo.ts'), import('./reporter.ts'), import('./stage.ts')])
await using stage = await openStage()
// Before the story begins, so that it sees all of it.
await using inspector = stays ? await (await import('./open-inspector.ts')).openInspector(stage.host) : undefined
const width = columns === undefined ? process.stdout.columns : Number(columns)
const failed = await playDemo(stage, createReporter(print, width))
print(failed === 0 ? `
All scenarios passed. Try next:
  ./node_modules/.bin/bulkhead tools --home apps/demo/extensions          list the tools and their permissions
  ./node_modules/.bin/bulkhead explain sink --home apps/demo/extensions   show whether a call would be allowed, and why
  ./node_modules/.bin/bulkhead new my-tool                                create your own extension
Start reading at README.md.` : `\n${failed} scenarios failed.`)
process.exitCode = failed === 0 ? 0 : 1
if (inspector) {
  print(`
This very session, in your browser (the link works once, for five minutes):
  ${inspector.link()}
Ctrl-C ends it.`)
  await new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => resolve())
  })
}
