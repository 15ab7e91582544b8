import { openRecordings, type RecordedSession } from '@bulkhead/host'
import { visibleText } from '@bulkhead/kit/text'
import { localTime } from '@bulkhead/kit/times'
import { type Command, defineSubcommand, UsageError } from '../command.ts'
import { RECORDS_OPTIONS, withStore } from '../host-options.ts'
import { printJson, table } from '../output.ts'
import { readBefore, WHEN } from '../read-when.ts'

const list = defineSubcommand({
  text: 'list recorded sessions, the latest first',
  options: RECORDS_OPTIONS,
  async run({ values: { json, ...place } }) {
    const found = await withStore(place, 'recording', (store) => openRecordings(store).list())
    if (json) printJson(found)
    else process.stdout.write(listText(found))
    return 0
  },
})

const purge = defineSubcommand({
  text: 'remove recorded sessions',
  usage: '(SESSION… | --before | --all)',
  options: {
    before: { type: 'string', value: 'WHEN', text: `sessions without a call since then: ${WHEN}` },
    all: { type: 'boolean', text: 'all of them' },
    ...RECORDS_OPTIONS,
  },
  async run({ values: { before, all = false, json, ...place }, positionals: starts }) {
    const ways = Number(starts.length > 0) + Number(before !== undefined) + Number(all)
    if (ways !== 1) throw new UsageError('Say what to remove: ids of sessions, --before WHEN, or --all.')
    const since = readBefore(before)
    const removed = await withStore(place, 'recording', async (store) => {
      const book = openRecordings(store)
      const ids = await Promise.all(starts.map(async (start) => (await book.read(start)).id))
      return book.purge({ ...(starts.length > 0 && { ids }), ...(since !== undefined && { before: since }) })
    })
    if (json) printJson({ removed })
    else process.stdout.write(removed.length === 1 ? 'Removed one session.\n' : `Removed ${removed.length} sessions.\n`)
    return 0
  },
})

export const record: Command = {
  subcommands: { list, purge },
  operands: { SESSION: { text: 'a recorded session; the first four characters of its id are enough' } },
  details: `Sessions are recorded if "record" is true in your configuration (bulkhead config set record true) or
that of the machine, or where a program asks for it.
They are removed after store.retention.recordDays (7), and the oldest of more than recordMiB (256).`,
  exits: ['on success', 'if the session is not recorded, or the store cannot be read'],
  examples: [
    { command: 'bulkhead record list', text: 'what is recorded' },
    { command: 'bulkhead record purge --all', text: 'remove all of it' },
  ],
}

const MIB = 1024 ** 2

function listText(found: readonly RecordedSession[]): string {
  if (found.length === 0) return 'No session is recorded. To record sessions: bulkhead config set record true\n'
  const rows = found.map(({ id, lastAt, calls, missing, bytes, workspace, principal = '-', parentId }) => [
    id, localTime(new Date(lastAt)), `${calls}${missing > 0 ? ` (${missing} missing)` : ''}`, `${(bytes / MIB).toFixed(1)} MiB`, principal,
    visibleText(parentId === undefined ? workspace : `${workspace}, a sub-agent of ${parentId}`),
  ])
  return table(['SESSION', 'LAST CALL', 'CALLS', 'SIZE', 'PRINCIPAL', 'FOLDER'], rows)
}
