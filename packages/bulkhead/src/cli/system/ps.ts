import { existsSync } from 'node:fs'
import type { Freeze, JoinedHost, ShownRow } from '@bulkhead/contract'
import { visibleText } from '@bulkhead/kit/text'
import type { Command } from '../command.ts'
import { RECORDS_OPTIONS, storeHere, withStore } from '../host-options.ts'
import { printJson, table } from '../output.ts'
import { ageOf } from './age.ts'
import { frozenText, workOf } from './freeze.ts'

interface Found {
  readonly hosts: readonly JoinedHost[]
  readonly freeze: Freeze | undefined
}

export const ps: Command<typeof RECORDS_OPTIONS> = {
  options: RECORDS_OPTIONS,
  details: `Lists every process that uses the store of the home. RULES is a digest of the settings that a host follows. Hosts of one
folder with different digests decide differently. A host is silent if its heartbeat is late, and gone if it has ended and
left calls, which the next host settles.`,
  exits: ['on success', 'if the store cannot be read'],
  examples: [
    { command: 'bulkhead ps', text: 'what runs' },
    { command: 'bulkhead ps --json', text: 'the same for scripts, with whole ids' },
  ],
  async run({ values: { json, ...place } }) {
    const chosen = await storeHere(place)
    const isThere = chosen.kind === 'postgres' || place.store !== undefined || existsSync(chosen.file)
    const found = isThere ? await withStore(place, 'store', look) : NOTHING
    const differing = differingFolders(found.hosts)
    if (json) printJson({ frozen: found.freeze ?? null, hosts: found.hosts, differing })
    else {
      process.stdout.write(pageOf(found))
      for (const folder of differing) {
        process.stderr.write(visibleText(`Warning: the hosts of ${folder} follow different rules. Reload or restart them.`) + '\n')
      }
    }
    return 0
  },
}

const NOTHING: Found = { hosts: [], freeze: undefined }

async function look(store: Parameters<typeof workOf>[0]): Promise<Found> {
  const work = workOf(store)
  const [hosts, freeze] = await Promise.all([work.hosts(), work.frozen()])
  return { hosts, freeze }
}

/** Folders whose living hosts follow different rules. */
function differingFolders(hosts: readonly JoinedHost[]): readonly string[] {
  const living = hosts.filter(({ state, rules }) => state !== 'gone' && rules !== '')
  return [...Map.groupBy(living, ({ workspace }) => workspace)]
    .filter(([, own]) => new Set(own.map(({ rules }) => rules)).size > 1).map(([folder]) => folder)
}

function pageOf({ hosts, freeze }: Found): string {
  const frozen = freeze ? `${frozenText(freeze)} To let calls start again: bulkhead thaw\n` : ''
  if (hosts.length === 0) return `${frozen}No host uses this store now.\n`
  const now = Date.now()
  const named = new Map(hosts.map((host, index) => [host.id, String(index + 1)]))
  const each = <Row>(rows: (host: JoinedHost) => readonly Row[], line: (row: Row) => readonly string[]) =>
    hosts.flatMap((host) => rows(host).map((row) => [named.get(host.id)!, ...line(row)]))
  const sessions = each(({ sessions: own }) => own, ({ id, row }) =>
    [id, ageOf(row['since'], now), textOf(row, 'principal'), textOf(row, 'agent'), textOf(row, 'workspace')])
  const calls = each(({ calls: own }) => own, ({ tool, callId, sessionId, startedAt, begun }) =>
    [tool, ageOf(startedAt, now), callId, sessionId, begun.at(-1)?.what ?? '-'])
  const questions = each(({ questions: own }) => own, ({ id, row }) =>
    [textOf(row, 'kind'), ageOf(row['since'], now), textOf(row, 'source'), id])
  return [
    frozen,
    table(
      ['HOST', 'PID', 'MACHINE', 'VERSION', 'STATE', 'SINCE', 'HEARTBEAT', 'RULES', 'FOLDER'],
      hosts.map((host) => [
        named.get(host.id)!, String(host.pid), host.machine || '-', host.version || 'earlier', stateOf(host, freeze),
        ageOf(host.since, now), ageOf(now - host.silentMs, now), host.rules || '-', host.workspace || '-',
      ])),
    part('Sessions', ['HOST', 'ID', 'SINCE', 'PRINCIPAL', 'AGENT', 'FOLDER'], sessions),
    part('Calls', ['HOST', 'TOOL', 'AGE', 'CALL', 'SESSION', 'BEGAN'], calls),
    part('Open questions', ['HOST', 'KIND', 'AGE', 'FROM', 'ID'], questions),
  ].join('')
}

/** Nothing for no rows. */
const part = (title: string, headings: readonly string[], rows: readonly (readonly string[])[]): string =>
  rows.length === 0 ? '' : `\n${title}:\n${table(headings, rows)}`

const stateOf = ({ state, isFrozen }: JoinedHost, freeze: Freeze | undefined): string =>
  state !== 'live' || !freeze ? state : isFrozen ? 'frozen' : 'not frozen yet'

function textOf(row: ShownRow['row'], name: string): string {
  const value = row[name]
  return typeof value === 'string' ? value : '-'
}
