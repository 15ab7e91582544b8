import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { IN_THREADS, writeExtension } from '../extension-folder.ts'
import { type Replica, ReplicaProcess, startReplica } from './replica.ts'

const CONFIG = { ...IN_THREADS, budget: { calls: 10 } }

let folder: string
const replicas: Replica[] = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bulkhead-budget-'))
  writeExtension(join(folder, 'home'), { id: 'acts', tools: [{ name: 'acts' }] },
    'export default { tools: { acts: { execute: () => ({ done: true }) } } }')
})
afterEach(async () => {
  await Promise.all(replicas.splice(0).map((one) => one.end()))
  rmSync(folder, { recursive: true, force: true })
})

async function opened(principal: string, start = startReplica): Promise<Replica> {
  const one = await start(folder, CONFIG)
  replicas.push(one)
  await one.ask('open', { principal: { id: principal }, mode: 'yolo' })
  return one
}

const calls = (name: string, count: number) =>
  Array.from({ length: count }, (_, index) => ({ id: `${name}${index}`, name: 'acts', arguments: {} }))
const succeeded = (outcomes: readonly { type: string }[]) => outcomes.filter(({ type }) => type === 'output').length

it('three hosts spend the budget of one principal once', async () => {
  const hosts = await Promise.all([opened('ada'), opened('ada'), opened('ada')])
  const outcomes = (await Promise.all(hosts.map((host, index) => host.ask('callMany', calls(`${index}-`, 8))))).flat()
  expect(succeeded(outcomes)).toBe(10)
  const codes = outcomes.filter(({ type }) => type === 'error').map(({ error }) => error.code)
  expect(new Set(codes)).toEqual(new Set(['BudgetExhausted']))
  const other = await opened('bob')
  expect(await other.ask('call', 'x', 'acts', {})).toMatchObject({ type: 'output' })
})

it('what a killed host had reserved stays counted while another session of the principal is open', LONG, async () => {
  const [a, b] = [await opened('ada', ReplicaProcess.start), await opened('ada')]
  expect(succeeded(await a.ask('callMany', calls('a', 6)))).toBe(6)
  await a.end()
  expect(succeeded(await b.ask('callMany', calls('b', 6)))).toBe(4)
})

it('the last session of a principal takes its count along, and not one before', async () => {
  const [a, b] = [await opened('ada'), await opened('ada')]
  expect(succeeded(await a.ask('callMany', calls('a', 9)))).toBe(9)
  expect(succeeded(await b.ask('callMany', calls('b', 2)))).toBe(1)
  await a.ask('closeSession')
  expect(await b.ask('call', 'more', 'acts', {})).toMatchObject({ error: { code: 'BudgetExhausted' } })
  await b.ask('closeSession')
  // The last session of the principal has closed.
  const c = await opened('ada')
  expect(succeeded(await c.ask('callMany', calls('c', 10)))).toBe(10)
})
