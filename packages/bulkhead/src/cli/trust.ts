import { resolve } from 'node:path'
import { styleText } from 'node:util'
import { visibleText, type Loader, type TrustDecision, type TrustRecord } from '@bulkhead/contract'
import { createLoader } from '@bulkhead/loader'
import { homeFolder } from '../home-folder.ts'
import { loaderOptions } from '../loader-options.ts'
import { jsonText, printJson } from './answer.ts'
import type { Command } from './command.ts'
import { diagnosticText } from './diagnostic-text.ts'
import { HOME_OPTIONS, readOptions } from './host-options.ts'
import { table } from './table.ts'
import { UsageError } from './usage-error.ts'

const DECISIONS = { decline: 'declined', once: 'once', revoke: 'revoked' } as const satisfies Record<string, TrustDecision>

export const trust: Command = {
  usage: 'bulkhead trust [PATH] [--decline | --once | --revoke | --list] [--json] [--home DIR]',
  details: `  PATH        the project (default: this folder); --workspace PATH is the same
  --decline   its own tools and settings are never read
  --once      they are used by the next start, and by no other
  --revoke    takes back whatever was said
  --list      what was said of which projects; says nothing of its own
  --json      print JSON
  --home DIR  the folder of the global layer, where the record is (default: ~/.bulkhead)

Without one of these the project is trusted as it is now: when its tools or settings change, it asks again.`,

  async run(args) {
    const { values, positionals } = readOptions(args, {
      ...HOME_OPTIONS, workspace: { type: 'string' },
      decline: { type: 'boolean' }, once: { type: 'boolean' }, revoke: { type: 'boolean' }, list: { type: 'boolean' },
    })
    const asked = (['decline', 'once', 'revoke', 'list'] as const).filter((name) => values[name])
    if (asked.length > 1) throw new UsageError(`One thing at a time: ${asked.map((name) => `--${name}`).join(' and ')} contradict each other.`)
    const paths = [...positionals, ...(values.workspace === undefined ? [] : [values.workspace])]
    if (paths.length > 1) throw new UsageError(`One project at a time: "${paths.slice(1).join(' ')}" is too much.`)
    const loader = createLoader(loaderOptions(homeFolder(values.home)))
    const [what] = asked
    if (what === 'list') return list(loader, values.json === true)
    const path = resolve(paths[0] ?? '.')
    const record = await loader.trust.decide(path, what === undefined ? 'trusted' : DECISIONS[what])
    process.stdout.write(values.json ? jsonText(record) : `${sentence(record)}\n`)
    return 0
  },
}

async function list(loader: Loader, json: boolean): Promise<number> {
  const { records, diagnostics } = await loader.trust.list()
  if (json) {
    printJson({ records, diagnostics })
    return 0
  }
  process.stdout.write(records.length === 0 ? 'Nothing was said of any project.\n' : table(
    ['DECISION', 'SINCE', 'CONTENT', 'PROJECT'],
    records.map(({ decision, decidedAt, digest, path }) => [decision, decidedAt, digest?.slice(0, 12) ?? '-', path]),
  ))
  for (const diagnostic of diagnostics) process.stderr.write(diagnosticText(diagnostic, process.stderr))
  return 0
}

function sentence({ decision, path, digest }: TrustRecord): string {
  const project = styleText('bold', visibleText(path))
  switch (decision) {
    case 'trusted':
      return `${project} is trusted as it is now (${digest?.slice(0, 12)}); when it changes, it asks again.`
    case 'once':
      return `${project} is trusted as it is now (${digest?.slice(0, 12)}), for the next start only.`
    case 'declined':
      return `${project} is declined: nothing of its own tools and settings is read.`
    case 'revoked':
      return `${project} is as if nothing had been said of it.`
  }
}
