import { resolve } from 'node:path'
import { styleText } from 'node:util'
import type { Loader, TrustDecision, TrustRecord, TrustStanding } from '@bulkhead/contract'
import { visibleText } from '@bulkhead/kit/text'
import { createLoader } from '@bulkhead/loader'
import { homeFolder } from '../facade/folders.ts'
import { loaderOptions } from '../facade/loader-options.ts'
import { jsonText, printJson, table } from './output.ts'
import { type Command, UsageError } from './command.ts'
import { agreeToProject, readConsent } from './consent.ts'
import { diagnosticText } from './diagnostic-text.ts'
import { HOME_OPTIONS, readOptions } from './host-options.ts'
import { contentsJson, contentsText, readContents } from './project-contents.ts'

const DECISIONS = { decline: 'declined', once: 'once', revoke: 'revoked' } as const satisfies Record<string, TrustDecision>

export const trust: Command = {
  usage: 'bulkhead trust [PATH] [--once] [--yes] [--accept DIGEST] | [--decline | --revoke | --status | --list] [--json] [--home DIR]',
  details: `  PATH             project folder (default: this folder); same as --workspace PATH
  --once           trust the project for the next start only
  --yes            agree without a prompt
  --accept DIGEST  agree only if the content has this digest (12 characters or more)
  --status         show the decision and the project's contents; change nothing
  --decline        do not use the project, and do not ask again until it changes
  --revoke         remove the decision
  --list           list the decisions for all projects
  --json           print JSON
  --home DIR       folder of the global layer, where decisions are stored (default: ~/.bulkhead)

Shows the tools of the project, their permissions, the settings it loosens and the servers it would start, then asks whether to
trust it. No project code runs before that. Trust applies to this content: if the project changes, you are asked again.

Exit code: 0 if the decision was stored or shown, 1 if you did not agree, 2 for wrong usage.`,

  async run(args) {
    const { values, positionals } = readOptions(args, {
      ...HOME_OPTIONS, workspace: { type: 'string' }, yes: { type: 'boolean', short: 'y' }, accept: { type: 'string' },
      decline: { type: 'boolean' }, once: { type: 'boolean' }, revoke: { type: 'boolean' }, status: { type: 'boolean' }, list: { type: 'boolean' },
    })
    const asked = (['decline', 'once', 'revoke', 'status', 'list'] as const).filter((name) => values[name])
    if (asked.length > 1) throw new UsageError(`${asked.map((name) => `--${name}`).join(' and ')} cannot be used together.`)
    const paths = [...positionals, ...(values.workspace === undefined ? [] : [values.workspace])]
    if (paths.length > 1) throw new UsageError(`Unexpected argument "${paths.slice(1).join(' ')}". Name one project.`)
    const [what] = asked
    const isConsent = what === undefined || what === 'once'
    if (!isConsent && (values.yes || values.accept !== undefined)) throw new UsageError(`--yes and --accept cannot be used with --${what}.`)
    const consent = readConsent(values, '--status')
    const loader = createLoader(loaderOptions(homeFolder(values.home)))
    if (what === 'list') return list(loader, values.json === true)
    const path = resolve(paths[0] ?? '.')
    if (what === 'status') return status(loader, path, values.json === true)
    let seen: string | undefined
    if (isConsent && await loader.hasProjectLayer(path)) {
      const contents = await readContents(loader, path)
      if (!values.json) process.stderr.write(contentsText(contents))
      await agreeToProject(contents, what === 'once', consent)
      seen = contents.digest
    }
    const record = await loader.trust.decide(path, what === undefined ? 'trusted' : DECISIONS[what], seen)
    process.stdout.write(values.json ? jsonText(record) : `${sentence(record)}\n`)
    return 0
  },
}

async function status(loader: Loader, path: string, json: boolean): Promise<number> {
  const { standing, diagnostics } = await loader.trust.standing(path)
  const contents = await readContents(loader, path)
  if (json) printJson({ path, standing, ...contentsJson(contents), recordDiagnostics: diagnostics })
  else process.stdout.write(`${contentsText(contents)}${STANDINGS[standing.kind]}${'since' in standing ? ` Decided ${standing.since}.` : ''}\n`)
  for (const diagnostic of json ? [] : diagnostics) process.stderr.write(diagnosticText(diagnostic, process.stderr))
  return 0
}

const STANDINGS: Readonly<Record<TrustStanding['kind'], string>> = {
  nothing: 'Nothing to decide: the project has no tools or settings of its own.',
  unknown: 'Not decided: the project is not used until you trust it.',
  trusted: 'Trusted: it is used until its content changes.',
  once: 'Trusted for the next start with this content.',
  declined: 'Declined: it is not used.',
  changed: 'Not used: it has changed since you decided.',
}

async function list(loader: Loader, json: boolean): Promise<number> {
  const { records, diagnostics } = await loader.trust.list()
  if (json) {
    printJson({ records, diagnostics })
    return 0
  }
  process.stdout.write(records.length === 0 ? 'No decisions are stored.\n' : table(
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
      return `${project} is trusted (content ${digest?.slice(0, 12)}). If it changes, you are asked again.`
    case 'once':
      return `${project} is trusted (content ${digest?.slice(0, 12)}) for the next start only.`
    case 'declined':
      return `${project} is declined: its tools and settings are not used. If they change, you are asked again.`
    case 'revoked':
      return `The decision about ${project} was removed.`
  }
}
