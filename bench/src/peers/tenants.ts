// Prints the megabytes that the host of one tenant adds to a process that has those of several, and to the server: alone, with an open session,
// with a session that has called a tool of the program or a bundled one, or after it closed.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { addTenant } from '@bulkhead/store-postgres'
import { createHost, defineTool, type Host } from 'bulkhead'
import { newSchema, sharedPostgres } from '../../../scripts/postgres/server.ts'

export type TenantState = 'host' | 'session' | 'own tool' | 'bundled tool' | 'closed'

const COUNT = 16
/** The first ones also load what all of them share. */
const FIRST = 6
const SETTLE_MS = 6_000
const KB_PER_MB = 1024

const state = process.argv[2] as TenantState
const folder = mkdtempSync(join(tmpdir(), 'bulkhead-bench-'))
const home = join(folder, 'home')
for (const path of ['home/tenants', 'work']) mkdirSync(join(folder, path), { recursive: true })
const url = (await sharedPostgres()).url(newSchema())
const names = Array.from({ length: COUNT + FIRST }, (_, number) => `t${number}`)
for (const name of names) {
  await addTenant(url, name, async ({ password }) => writeFileSync(join(home, 'tenants', name), password, { mode: 0o600 }))
}
const host = await createHost({ workspace: join(folder, 'work'), home, store: url, trust: 'declined' })
const greet = defineTool({
  name: 'greet', description: 'Greets.', input: { type: 'object' }, mode: 'read', execute: async () => ({ greeting: 'hello' }),
})

async function use(name: string): Promise<Host> {
  console.error('use', name)
  const tenant = await host.forTenant(name, { onOpen: (opened) => opened.register(greet) })
  if (state === 'host' || state === 'closed') return tenant
  const session = await tenant.openSession({ mode: 'yolo' })
  if (state === 'session') return tenant
  writeFileSync(join(folder, 'work', name, 'a.txt'), name)
  const outcome = await session.call(state === 'own tool' ? { id: 'one', name: 'greet', arguments: {} }
    : { id: 'one', name: 'read', arguments: { path: 'a.txt' } })
  if (outcome.type !== 'output') throw new Error(JSON.stringify(outcome))
  return tenant
}

/** Resident, of objects after a collection, and of the processes of the server that the connections have. */
async function megabytes(): Promise<readonly [resident: number, objects: number, server: number]> {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  for (let times = 0; times < 6; times++) {
    gc()
    await sleep(SETTLE_MS / 6)
  }
  const { pid } = await sharedPostgres()
  const backends = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).split(' ').filter(Boolean)
  const shares = await Promise.all(backends.map((one) => kilobytes(one, 'Pss').catch(() => 0)))
  const objects = (process.memoryUsage().heapUsed + process.memoryUsage().external) / KB_PER_MB ** 2
  return [await kilobytes('self', 'Rss') / KB_PER_MB, objects, shares.reduce((sum, one) => sum + one, 0) / KB_PER_MB]
}

async function kilobytes(pid: string, what: 'Pss' | 'Rss'): Promise<number> {
  const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8')
  return Number(new RegExp(`^${what}:\\s+(\\d+)`, 'm').exec(rollup)?.[1])
}

const open = async (some: readonly string[]) => {
  for (const name of some) {
    const tenant = await use(name)
    if (state === 'closed') await tenant.close()
  }
}
await open(names.slice(0, FIRST))
const before = await megabytes()
await open(names.slice(FIRST))
const after = await megabytes()
console.log(JSON.stringify(after.map((size, index) => (size - before[index]!) / COUNT)))
await host.close()
rmSync(folder, { recursive: true, force: true })
process.exit()
