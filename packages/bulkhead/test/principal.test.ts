import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createHost, openSqliteStore } from '../src/index.ts'
import { CACHE } from './cache.ts'
import { inside } from './command-inside.ts'
import { IN_THREADS, writeExtension } from './extension-folder.ts'

let folder: string
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-principal-')))
  mkdirSync(join(folder, 'work'))
  writeExtension(
    join(folder, 'home/.bulkhead'),
    {
      id: 'counter', stateSlot: { slotVersion: '1', schema: { type: 'integer' } },
      tools: [
        {
          name: 'count', gated: true, approvalKey: 'all {of}', inputSchema: { type: 'object', properties: { of: {} } },
        },
      ],
    },
    `export default { tools: { count: { execute: async (_, { state }) => {
    const next = (await state.read() ?? 0) + 1
    await state.write(next)
    return { next }
  } } } }`,
  )
})
afterEach(() => rmSync(folder, { recursive: true }))

it('approvals and state of a principal are not another\'s, and the command line shows whose they are', async () => {
  const home = join(folder, 'home/.bulkhead')
  const store = await openSqliteStore({ file: join(home, 'bulkhead.db') })
  const host = await createHost({
    workspace: join(folder, 'work'), home, cache: CACHE, store, env: {},
    config: { ...IN_THREADS, approvals: { project: true } },
  })
  const asked: (string | undefined)[] = []
  const count = async (id?: string) => {
    const session = await host.openSession({
      ...(id !== undefined && { principal: { id } }),
      approver: {
        approve: async ({ principal }) => {
          asked.push(principal?.id)
          return { decision: 'project', by: 'Eve' }
        },
      },
    })
    const outcome = await session.call({ id: 'c', name: 'count', arguments: { of: 'ships' } })
    return outcome.type === 'output' ? outcome.data : outcome.error_text
  }
  // The tool runs in a compartment that all of them share.
  expect([await count('ada'), await count('ada'), await count('bob'), await count(), await count('ada')])
    .toEqual([1, 2, 1, 1, 3].map((next) => ({ next })))
  expect(asked).toEqual(['ada', 'bob', undefined])
  const [approval] = await host.approvals.list({ principal: 'ada' })
  await host.close()

  const run = async (...args: readonly string[]) => (await inside([...args, '--home', home], folder)).stdout
  const table = await run('approvals', 'list', '--all')
  expect(table).toMatch(/ PRINCIPAL +KEY\n/)
  expect(table.match(/(?<= )(?:ada|bob|-)(?= +all ships$)/gm)?.toSorted()).toEqual(['-', 'ada', 'bob'])
  expect(await run('approvals', 'show', approval!.id)).toMatch(/^principal +ada$/m)
  const calls = await run('audit', 'tail', '--tool', 'count', '--principal', 'ada')
  expect(calls).toMatch(/ WHAT +FOR +RESULT /)
  expect(calls.match(/\/\S+ +count +all ships +ada +ok /g)).toHaveLength(3)
})
