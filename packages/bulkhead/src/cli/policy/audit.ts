import { styleText } from 'node:util'
import { BulkheadError, type AuditEntry, type Store } from '@bulkhead/contract'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { verifyAudit, type Anchor } from '@bulkhead/store'
import { archiveAudit, exportLines, openExport } from './audit-export.ts'
import { type Command, type CommandOptions, defineSubcommand, UsageError } from '../command.ts'
import { HOME_OPTIONS, withStore } from '../host-options.ts'
import { auditsOf, onlyAudit, type NamedAudit } from './audits.ts'
import { printJson, table } from '../output.ts'

const LATEST = 20
const KEPT_DAYS = 90
const DAY_MS = 86_400_000
/** Keeps the computed date after 1970. */
const MOST_DAYS = 20_000

const AUDIT_OPTIONS = {
  json: { type: 'boolean', text: 'print JSON; show and export always do' },
  home: HOME_OPTIONS.home,
} as const satisfies CommandOptions

/** Of a store that several hosts share. */
const HOST_OPTION = {
  host: { type: 'string', value: 'NAME', text: 'only the audit of this host, if several share the store' },
} as const satisfies CommandOptions

const verify = defineSubcommand({
  text: 'find the first changed, missing or moved record, in the store or in an exported or archived FILE',
  usage: '[FILE]',
  options: {
    anchor: {
      type: 'string', value: 'POSITION:LINK',
      text: 'a link you saved earlier; detects a log that was rewritten as a whole',
    },
    ...HOST_OPTION, ...AUDIT_OPTIONS,
  },
  async run({ values: { anchor: given, host, json = false, home }, positionals: [file, ...more] }) {
    refuseMore(more)
    const anchor = readAnchor(given)
    if (file === undefined) {
      return withStore(home, 'audit', async (store) => {
        const chains = await auditsOf(store, host)
        if (anchor === undefined && chains.length !== 1) return verifyAll(chains, json)
        return printVerdict(await verifyAudit(onlyAudit(chains), anchor), json)
      })
    }
    using exported = await openExport(file)
    return printVerdict(await verifyAudit(exported, anchor), json)
  },
})

const tail = defineSubcommand({
  text: 'show the latest records of calls, approvals, sessions and errors',
  options: {
    tool: { type: 'string', value: 'NAME', completes: 'tool', text: 'only records of this tool' },
    session: { type: 'string', value: 'ID', text: 'only records of this session; the start of its id is enough' },
    since: {
      type: 'string', value: 'WHEN',
      text: 'only records from this time on: 90m, 12h or 7d ago, or a date such as 2026-01-31 or 2026-01-31T08:00Z',
    },
    count: { type: 'string', value: 'N', whole: { least: 1 }, text: `number of records (default: ${LATEST})` },
    all: { type: 'boolean', text: 'include the start and stop of extensions' },
    ...HOST_OPTION, ...AUDIT_OPTIONS,
  },
  async run({ values: { tool, session, since, count = LATEST, all = false, host, json, home } }) {
    const filter = { tool, session, since: since === undefined ? undefined : readTime(since) }
    return withStore(home, 'audit', async (store) => {
      const chains = await auditsOf(store, host)
      const found = await Promise.all(chains.map((chain) => latestEntries(chain, count, all, filter)))
      const entries = found.length === 1 ? found[0]! : found.flat().toSorted(byTime).slice(-count)
      if (json) printJson(entries.map(shown))
      else process.stdout.write(auditTable(entries))
      return 0
    })
  },
})

const show = defineSubcommand({
  text: 'show one record in full',
  usage: 'POSITION',
  options: { ...HOST_OPTION, ...AUDIT_OPTIONS },
  async run({ values: { home, host }, positionals: [given, ...more] }) {
    refuseMore(more)
    const position = readPosition(given)
    return withStore(home, 'audit', async (all) => {
      const store = onlyAudit(await auditsOf(all, host))
      const [entry] = await store.records(position, 1)
      if (entry?.position !== position) {
        const { first } = await store.auditSpan()
        const why = position < first ? ` It starts at ${first}: earlier records were archived.` : ''
        throw new BulkheadError('NotFound', `The audit has no record ${position}.${why}`)
      }
      printJson(shown(entry))
      return 0
    })
  },
})

const exportAll = defineSubcommand({
  text: 'print all records as JSON lines',
  options: { ...HOST_OPTION, ...AUDIT_OPTIONS },
  run: ({ values: { home, host } }) => withStore(home, 'audit', async (all) => {
    const store = onlyAudit(await auditsOf(all, host))
    for await (const line of exportLines(store, await store.auditSpan())) {
      if (!process.stdout.writable) break
      process.stdout.write(`${line}\n`)
    }
    return 0
  }),
})

const archive = defineSubcommand({
  text: 'write old records to FILE, verify it, then remove them from the store',
  usage: 'FILE',
  options: {
    keep: {
      type: 'string', value: 'DAYS', whole: { least: 0, most: MOST_DAYS, unit: 'days' },
      text: `keep records newer than this (default: ${KEPT_DAYS})`,
    },
    ...HOST_OPTION, ...AUDIT_OPTIONS,
  },
  async run({ values: { keep: days = KEPT_DAYS, host, json, home }, positionals: [file, ...more] }) {
    refuseMore(more)
    if (file === undefined) throw new UsageError('Missing file. Name a file that does not exist yet.')
    return withStore(home, 'audit', async (all) => {
      const store = onlyAudit(await auditsOf(all, host))
      const archived = await archiveAudit(store, file, new Date(Date.now() - days * DAY_MS))
      if (json) printJson(archived ? { file, ...archived } : { file: null })
      else if (!archived) process.stdout.write(`No records are older than ${days} days.\n`)
      else {
        const { first, last, left } = archived
        const records = `${last - first + 1} records, ${first} to ${last}; ${left} are left.`
        process.stdout.write(`${styleText('green', 'archived')} ${records} ${anchorText(archived)}`)
      }
      return 0
    })
  },
})

export const audit: Command = {
  subcommands: { verify, tail, show, export: exportAll, archive },
  exits: ['if the log is intact', 'if it is broken or cannot be read'],
  examples: [
    { command: 'bulkhead audit tail --count 5', text: 'what happened last' },
    { command: 'bulkhead audit tail --tool bash --since 12h', text: 'the commands of the last twelve hours' },
    { command: 'bulkhead audit verify', text: 'was the log changed' },
    { command: 'bulkhead audit archive audit-2026.jsonl --keep 30', text: 'move records older than 30 days to a file' },
  ],
}

function refuseMore(more: readonly string[]): void {
  if (more.length > 0) throw new UsageError(`Unexpected argument "${more.join(' ')}".`)
}

/** What all hosts say, one line each. */
async function verifyAll(chains: readonly NamedAudit[], json: boolean): Promise<number> {
  const verdicts = []
  for (const chain of chains) verdicts.push({ host: chain.name, ...await verifyAudit(chain) })
  const isIntact = verdicts.every(({ ok }) => ok)
  if (json) printJson({ ok: isIntact, hosts: verdicts })
  else {
    const rows = verdicts.map((verdict) => [
      verdict.host, verdict.ok ? 'intact' : 'broken',
      verdict.ok ? `${verdict.records} records, --anchor ${verdict.last}:${verdict.link}`
        : `at record ${verdict.position}: ${verdict.reason}`,
    ])
    process.stdout.write(rows.length === 0 ? 'No records.\n' : table(['HOST', 'AUDIT', 'WHAT'], rows))
  }
  return isIntact ? 0 : 1
}

const byTime = (one: AuditEntry, other: AuditEntry): number => timeOf(one) < timeOf(other) ? -1 : 1
const timeOf = ({ record }: AuditEntry): string => isJsonObject(record) ? text(record['at']) : ''

function printVerdict(verdict: Awaited<ReturnType<typeof verifyAudit>>, json: boolean): number {
  if (json) printJson(verdict)
  else if (verdict.ok) {
    process.stdout.write(`${styleText('green', 'intact')} ${verdict.records} records. ${anchorText(verdict)}`)
    const { first, before } = verdict
    if (first > 1) {
      const end = `${first - 1}:${before}`
      process.stdout.write(`It starts at record ${first}. The archive of earlier records must end with ${end}\n`)
    }
  } else process.stdout.write(`${styleText('red', 'broken')} at record ${verdict.position}: ${verdict.reason}.\n`)
  return verdict.ok ? 0 : 1
}

const anchorText = ({ last, link }: { readonly last: number; readonly link: string }): string =>
  `Save this anchor to detect a rewritten log later:\n  --anchor ${last}:${link}\n`

/** Omits the text of the group, which only verification needs. */
const shown = ({ position, record, link }: AuditEntry): AuditEntry => ({ position, record, link })

function readAnchor(given: string | undefined): Anchor | undefined {
  if (given === undefined) return undefined
  const [, position, link] = /^([1-9]\d*):([0-9a-f]{64})$/.exec(given) ?? []
  if (position === undefined || link === undefined) {
    throw new UsageError('--anchor must be POSITION:LINK, as printed by "audit verify".')
  }
  return { position: Number(position), link }
}

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: DAY_MS }

function readTime(given: string): Date {
  const [, amount, unit = ''] = /^(\d{1,6})([mhd])$/.exec(given) ?? []
  const written = /^\d{4}-\d\d-\d\d(?:T|$)/.test(given) ? given : Number.NaN
  const time = new Date(amount === undefined ? written : Date.now() - Number(amount) * UNITS[unit]!)
  if (!Number.isNaN(time.getTime())) return time
  throw new UsageError(`--since must be a duration such as 12h or a date such as 2026-01-31, not "${given}".`)
}

function readPosition(given: string | undefined): number {
  const position = Number(given)
  if (given === undefined || !Number.isSafeInteger(position) || position < 1) {
    throw new UsageError('Missing position. Use: bulkhead audit show POSITION.')
  }
  return position
}

const PAGE = 500

/** Only the records with all of these. */
export interface AuditFilter {
  readonly tool?: string | undefined
  /** The start of its id. */
  readonly session?: string | undefined
  readonly since?: Date | undefined
}

/** The latest `count` records, oldest first. Without `all`, skips the normal start and stop of extensions. */
export async function latestEntries(
  store: Pick<Store, 'auditSpan' | 'records'>, count: number, all: boolean, filter: AuditFilter = {},
): Promise<readonly AuditEntry[]> {
  const { first, last } = await store.auditSpan()
  const found: AuditEntry[] = []
  for (let end = last; end >= first && found.length < count; end -= PAGE) {
    const from = Math.max(first, end - PAGE + 1)
    const page = await store.records(from, end - from + 1)
    found.push(...page.filter(({ record }) => (all || !isHousekeeping(record)) && fits(record, filter)).toReversed())
  }
  return found.slice(0, count).toReversed()
}

function fits(record: Json, { tool, session, since }: AuditFilter): boolean {
  const of = isJsonObject(record) ? record : {}
  return (tool === undefined || of['tool'] === tool)
    && (session === undefined || text(of['sessionId']).startsWith(session))
    && (since === undefined || text(of['at']) >= since.toISOString())
}

/** A normal start or stop of an extension. Failures and gaps in the audit are always shown. */
function isHousekeeping(record: Json): boolean {
  if (!isJsonObject(record) || record['lostBefore'] !== undefined) return false
  if (record['type'] === 'LifecycleStateChanged') return record['to'] !== 'failed'
  return record['type'] === 'CompartmentEnded' && record['errorCode'] === null
}

export const auditTable = (entries: readonly AuditEntry[]): string =>
  entries.length === 0 ? 'No records.\n' : table(HEADINGS, entries.map(rowOf))

const HEADINGS = ['POSITION', 'AT', 'TYPE', 'TOOL', 'ORIGIN', 'WHAT']

function rowOf({ position, record }: AuditEntry): string[] {
  const of = isJsonObject(record) ? record : {}
  const origin = isJsonObject(of['origin'])
    ? `${text(of['origin']['layer'])} ${text(of['origin']['extension'])}@${text(of['origin']['version'])}`
    : '-'
  const lost = typeof of['lostBefore'] === 'number' ? `(${of['lostBefore']} earlier records were lost)` : undefined
  const what = [
    lost, keyText(of), of['decision'], of['errorCode'], of['from'] && `${text(of['from'])} to ${text(of['to'])}`,
    of['reason'] ?? of['message'], of['workspace'], of['agent'] && `agent ${text(of['agent'])}`, approvalText(of),
    archiveText(of), of['principal'] && `for ${text(of['principal'])}`,
  ]
  return [
    String(position), text(of['at']), text(of['type']), text(of['tool'] ?? of['extensionId']), origin,
    what.filter((word) => typeof word === 'string').join(' ').slice(0, 120) || '-',
  ]
}

function keyText({ type, key, method, host, path }: JsonObject): string | undefined {
  return text(type).startsWith('Key') ? `${text(key)} ${text(method)} ${text(host)}${text(path)}` : undefined
}

function approvalText({ type, approvalKey, grantedBy, revokedBy }: JsonObject): string | undefined {
  const by = grantedBy ?? revokedBy
  return text(type).startsWith('Approval')
    ? `${text(approvalKey)}${by === undefined ? '' : ` by ${text(by)}`}`
    : undefined
}

const archiveText = ({ type, first, last, by }: JsonObject): string | undefined =>
  type === 'AuditArchived' ? `${Number(first)} to ${Number(last)} by ${text(by)}` : undefined

const text = (value: Json | undefined): string => typeof value === 'string' ? value : '-'
