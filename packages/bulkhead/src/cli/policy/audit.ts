import { styleText } from 'node:util'
import { BulkheadError, type AuditEntry } from '@bulkhead/contract'
import { readRows, readStory } from '@bulkhead/contract/audit'
import { verifyAudit, type Anchor, type AuditSource, type AuditVerdict } from '@bulkhead/store'
import { archiveAudit, exportLines, openExport } from './audit-export.ts'
import { AuditPasskeys, type PasskeyReport } from './audit-passkeys.ts'
import { byTime, latestEntries, recordTable } from './audit-records.ts'
import { rowTable, storyText } from './audit-text.ts'
import { type Command, type CommandOptions, defineSubcommand, UsageError } from '../command.ts'
import { RECORDS_OPTIONS, withStore } from '../host-options.ts'
import { printJson, table } from '../output.ts'
import { readWhen, WHEN } from '../read-when.ts'
import { auditsOf, onlyAudit, withAudits, type ReadAudit } from './audits.ts'

const LATEST = 20
const KEPT_DAYS = 90
const DAY_MS = 86_400_000
/** Keeps the computed date after 1970. */
const MOST_DAYS = 20_000

const AUDIT_OPTIONS = {
  ...RECORDS_OPTIONS,
  json: { type: 'boolean', text: 'print JSON; export always does' },
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
  async run({ values: { anchor: given, host, json = false, ...place }, positionals: [file, ...more] }) {
    refuseMore(more)
    const anchor = readAnchor(given)
    if (file === undefined) {
      return withAudits(place, host, async (chains) => {
        if (anchor === undefined && chains.length !== 1) return verifyAll(chains, place.home, json)
        return printVerdict(await verified(onlyAudit(chains), place.home, anchor), json)
      })
    }
    using exported = await openExport(file)
    return printVerdict(await verified(exported, place.home, anchor), json)
  },
})

const tail = defineSubcommand({
  text: 'show the latest calls: what was done, for whom, and what allowed it',
  options: {
    tool: { type: 'string', value: 'NAME', completes: 'tool', text: 'only calls of this tool' },
    session: { type: 'string', value: 'ID', text: 'only of this session; the start of its id is enough' },
    principal: { type: 'string', value: 'ID', text: 'only for this user or client' },
    failed: { type: 'boolean', text: 'only calls that failed, were denied or were cancelled, and faults' },
    since: { type: 'string', value: 'WHEN', text: `only from this time on: ${WHEN}` },
    until: { type: 'string', value: 'WHEN', text: 'only up to this time; of a day, up to its end' },
    count: { type: 'string', value: 'N', whole: { least: 1 }, text: `number of rows (default: ${LATEST})` },
    all: { type: 'boolean', text: 'every record, one by one, in place of calls' },
    ...HOST_OPTION, ...AUDIT_OPTIONS,
  },
  async run({ values }) {
    const { tool, session, principal, failed, count = LATEST, all = false, host, json = false, home, store } = values
    if (all && failed) throw new UsageError('--failed is about calls. Leave out --all.')
    const filter = {
      tool, session, principal, failed, since: readWhen('since', values.since), until: readWhen('until', values.until),
    }
    return withAudits({ home, store }, host, async (chains) => {
      if (all) return printRecords(chains, filter, count, json)
      const rows = await readRows(chains, filter, count)
      if (json) printJson(rows)
      else process.stdout.write(rowTable(rows))
      return 0
    })
  },
})

async function printRecords(
  chains: readonly ReadAudit[], filter: Parameters<typeof latestEntries>[2], count: number, json: boolean,
): Promise<number> {
  const found = await Promise.all(chains.map((chain) => latestEntries(chain, count, filter)))
  const entries = found.length === 1 ? found[0]! : found.flat().toSorted(byTime).slice(-count)
  if (json) printJson(entries.map(shown))
  else process.stdout.write(recordTable(entries))
  return 0
}

const show = defineSubcommand({
  text: 'tell what happened in one call, or show one record in full',
  usage: '(CALL | POSITION)',
  options: { ...HOST_OPTION, ...AUDIT_OPTIONS },
  async run({ values: { host, json = false, ...place }, positionals: [given, ...more] }) {
    refuseMore(more)
    if (given === undefined) throw new UsageError('Missing call. Use: bulkhead audit show CALL, as "audit tail" names it.')
    if (/^\d+$/.test(given)) {
      return withAudits(place, host, async (chains) => showRecord(onlyAudit(chains), Number(given)))
    }
    const [, session, call] = /^([^/]*)\/(.+)$/s.exec(given) ?? []
    return withAudits(place, host, async (chains) => {
      // The id of a call may have a slash, too.
      const story = (call === undefined ? undefined : await readStory(chains, { session, call }))
        ?? await readStory(chains, { call: given })
      if (story === undefined) {
        throw new BulkheadError('NotFound', `The audit has no call "${given}". "bulkhead audit tail" lists the calls.`)
      }
      if (json) printJson(story)
      else process.stdout.write(storyText(story))
      return 0
    })
  },
})

async function showRecord(chain: ReadAudit, position: number): Promise<number> {
  const [entry] = await chain.records(position, 1)
  if (entry?.position !== position) {
    const { first } = await chain.auditSpan()
    const why = position < first ? ` It starts at ${first}: earlier records were archived.` : ''
    throw new BulkheadError('NotFound', `The audit has no record ${position}.${why}`)
  }
  printJson(shown(entry))
  return 0
}

const exportAll = defineSubcommand({
  text: 'print all records as JSON lines',
  options: { ...HOST_OPTION, ...AUDIT_OPTIONS },
  run: ({ values: { host, home, store: name } }) => withAudits({ home, store: name }, host, async (chains) => {
    const store = onlyAudit(chains)
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
  async run({ values: { keep: days = KEPT_DAYS, host, json, ...place }, positionals: [file, ...more] }) {
    refuseMore(more)
    if (file === undefined) throw new UsageError('Missing file. Name a file that does not exist yet.')
    return withStore(place, 'audit', async (all) => {
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
  operands: {
    CALL: { text: 'a call as tail names it, such as 1f0c2a7e/call_4; without a session, the latest call with that id' },
    POSITION: { text: 'the number of a record' },
  },
  exits: ['if the log is intact', 'if it is broken or cannot be read'],
  examples: [
    { command: 'bulkhead audit tail --count 5', text: 'what happened last' },
    { command: 'bulkhead audit tail --tool bash --since yesterday', text: 'the commands since yesterday' },
    { command: 'bulkhead audit tail --failed --since 9:00', text: 'what went wrong since nine' },
    { command: 'bulkhead audit show 1f0c2a7e/call_4', text: 'what happened in one call' },
    { command: 'bulkhead audit tail --store audit-2026.jsonl', text: 'the calls in an archive' },
    { command: 'bulkhead audit verify', text: 'was the log changed' },
    { command: 'bulkhead audit archive audit-2026.jsonl --keep 30', text: 'move records older than 30 days to a file' },
  ],
}

function refuseMore(more: readonly string[]): void {
  if (more.length > 0) throw new UsageError(`Unexpected argument "${more.join(' ')}".`)
}

/** What all hosts say, one line each. */
async function verifyAll(chains: readonly ReadAudit[], home: string | undefined, json: boolean): Promise<number> {
  const verdicts = []
  for (const chain of chains) verdicts.push({ host: chain.name, ...await verified(chain, home) })
  const isIntact = verdicts.every(({ ok }) => ok)
  if (json) printJson({ ok: isIntact, hosts: verdicts })
  else {
    const rows = verdicts.map((verdict) => [
      verdict.host, verdict.ok ? 'intact' : 'broken',
      verdict.ok ? `${verdict.records} records, --anchor ${verdict.last}:${verdict.link}${passkeyWords(verdict.passkeys, ', ')}`
        : `at record ${verdict.position}: ${verdict.reason}`,
    ])
    process.stdout.write(rows.length === 0 ? 'No records.\n' : table(['HOST', 'AUDIT', 'WHAT'], rows))
  }
  return isIntact ? 0 : 1
}

type Verified = AuditVerdict & { readonly passkeys?: PasskeyReport }

/** The chain, and the signatures of passkeys in it. */
async function verified(source: AuditSource, home: string | undefined, anchor?: Anchor): Promise<Verified> {
  const passkeys = new AuditPasskeys(home)
  const verdict = await verifyAudit(source, anchor, passkeys.note)
  const { report } = passkeys
  const { wrong } = report
  if (!verdict.ok || (report.right + report.unknown === 0 && !wrong)) return verdict
  if (!wrong) return { ...verdict, passkeys: report }
  return { ok: false, position: wrong.position, reason: `its passkey does not count: ${wrong.reason}`, passkeys: report }
}

/** Empty if there are none. */
function passkeyWords(report: PasskeyReport | undefined, before = ''): string {
  if (report === undefined) return ''
  const { right, unknown } = report
  const checked = `${right} ${right === 1 ? 'signature of a passkey is' : 'signatures of passkeys are'} right`
  return `${before}${checked}${unknown === 0 ? '' : `, ${unknown} not checked: ${unknown === 1 ? 'its key is' : 'their keys are'} not known here`}`
}

function printVerdict(verdict: Verified, json: boolean): number {
  if (json) printJson(verdict)
  else if (verdict.ok) {
    process.stdout.write(`${styleText('green', 'intact')} ${verdict.records} records. ${anchorText(verdict)}`)
    if (verdict.passkeys) process.stdout.write(`${passkeyWords(verdict.passkeys)}.\n`)
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
