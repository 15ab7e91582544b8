import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { thoroughly } from '../../../scripts/thoroughly.ts'
import type { Attack } from '../../sandbox/corpus/model/case.ts'
import { ATTACKS_HERE } from '../../sandbox/corpus/cases/index.ts'
import { createTarget, type Target } from '../../sandbox/corpus/target/target.ts'
import type { Facts } from '../../sandbox/corpus/target/facts.ts'
import { createHost, type Host, type Session } from '../src/index.ts'
import { CACHE } from './cache.ts'

let target: Target
let host: Host
let session: Session
let facts: Facts
let held: Socket
beforeAll(async () => {
  target = await createTarget()
  const limits = { heapMb: 24, memoryMb: 320, graceMs: 100 }
  host = await createHost({
    workspace: target.facts.work, home: `${target.facts.outside}/home`, cache: CACHE, trust: 'declined',
    config: { extensions: { 'code-exec': { limits }, 'code-mode': { limits } } },
  })
  session = await host.openSession({ codeMode: true, mode: 'yolo', tools: ['todo', 'code_exec'] })
  await target.restore()
  held = connect(target.heldPort, '127.0.0.1')
  await once(held, 'connect')
  facts = {
    ...target.facts, hostPid: process.pid,
    fds: {
      secret: openSync(`${target.facts.outside}/secret.txt`, 'r'),
      log: openSync(`${target.facts.outside}/log.txt`, 'a'),
      socket: (Reflect.get(held, '_handle') as { readonly fd: number }).fd,
    },
  }
})
afterAll(async () => {
  held.destroy()
  closeSync(facts.fds.secret)
  closeSync(facts.fds.log)
  await host.close()
  await target.remove()
})

const HELPERS = readFileSync(
  new URL('../../sandbox/corpus/extensions/attacker.js', import.meta.url), 'utf8',
).replaceAll(/^export /gm, '')

/** Attacks of code in a compartment. Those on the wire, and with files of a package, need other code than a program. */
const IN_PROGRAM = ATTACKS_HERE.filter(
  ({ in: inside, files, script, placements }) =>
    inside === 'compartment'
    && Object.keys(files).length === 0
    && placements.includes('process')
    && script.some(([step]) => step === 'call'),
)
/** One attack on files and one on the network. */
const SAMPLE: ReadonlySet<number> = new Set(
  ['A', 'F'].map((section) => IN_PROGRAM.find((attack) => attack.section === section)!.id),
)

const program = ({ body }: Attack): string => `
  const facts = ${JSON.stringify(facts)}
  const runtime = Object.freeze({ signal: new AbortController().signal })
  ${HELPERS}
  return await (async () => {
    ${body}
  })()
`
let calls = 0

it.each(['code_exec', 'code_mode'])('%s contains the attack corpus', async (tool) => {
  const reached: string[] = []
  for (const attack of IN_PROGRAM.filter(({ id }) => thoroughly(SAMPLE.has(id), true))) {
    const outcome = await session.call(
      { id: `c${++calls}`, name: tool, arguments: { code: program(attack) } }, { timeoutMs: 5_000 },
    )
    const expected = attack.script.find(([step]) => step === 'call')![1]
    const isExpected =
      outcome.type === 'output'
      && 'returned' in expected
      && isDeepStrictEqual((outcome.data as { value: unknown }).value, expected.returned)
    const text = JSON.stringify(outcome)
    const faults = [
      ...(text.includes(target.secret) ? ['the secret leaked'] : []),
      ...(text.includes('"got"') && !isExpected ? [text.slice(0, 500)] : []), ...(await target.touched()),
    ]
    if (faults.length > 0) reached.push(`${attack.id} ${attack.title}: ${faults.join('; ')}`)
  }
  expect(reached).toEqual([])
  expect(await session.call({ id: `after-${tool}`, name: tool, arguments: { code: 'return 1' } })).toMatchObject({
    data: { value: 1 },
  })
})
