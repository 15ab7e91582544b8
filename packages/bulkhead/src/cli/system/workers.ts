import type { ListedWorker } from '@bulkhead/contract'
import { defineCommand } from '../command.ts'
import { RECORDS_OPTIONS, withStore } from '../host-options.ts'
import { printJson, table } from '../output.ts'
import { ageOf } from './age.ts'

export const workers = defineCommand({
  options: RECORDS_OPTIONS,
  examples: [
    { command: 'bulkhead workers', text: 'show what serves calls, and how busy it is' },
    { command: 'bulkhead workers --json', text: 'the same for a script' },
  ],
  async run({ values: { json, ...place } }) {
    const found = await withStore(place, 'store', async (store) => store.placements?.workers())
    if (json) printJson({ workers: found ?? [] })
    else if (found === undefined) process.stdout.write('This store has no workers: it is a file. They need PostgreSQL: --store postgres://…\n')
    else if (found.length === 0) process.stdout.write('No worker uses this store now. Start one: bulkhead worker\n')
    else process.stdout.write(listOf(found))
    return 0
  },
})

function listOf(found: readonly ListedWorker[]): string {
  const now = Date.now()
  return table(
    ['WORKER', 'MACHINE', 'PID', 'STATE', 'LOAD', 'LABELS', 'WORKSPACES', 'VERSION', 'SINCE', 'HEARTBEAT'],
    found.map(({ id, machine, pid, state, load, capacity, labels, workspaces, version, since, silentMs }) => [
      id, machine, String(pid), state, `${load}/${capacity}`, labels.join(','), workspaces.join(',') || '-', version,
      ageOf(since, now), ageOf(now - silentMs, now),
    ]))
}
