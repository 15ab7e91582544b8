import { statSync } from 'node:fs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { defineAgent, type AgentRequest, type AgentRunner, type Session } from '../../src/index.ts'
import { createFakeClock, createScriptedApprover, createTestHost, type TestHost } from '../../src/testing/index.ts'
import '../../src/testing/vitest.ts'

const agents = [
  defineAgent({
    name: 'clerk', description: 'Pays bills.', prompt: 'You pay bills.', model: 'small', thinkingLevel: 'low',
    modelSettings: { temperature: 0 }, strategy: 'sequential', tools: ['pay', 'look', 'task'],
    rules: [
      { permission: 'look', pattern: '*', action: 'deny' }, { permission: 'pay', pattern: '*', action: 'allow' },
    ],
  }),
  defineAgent({ name: 'careful', rules: [{ permission: '*', pattern: '*', action: 'ask' }], budget: { calls: 1 } }),
]
const clock = createFakeClock()
let host: TestHost
let run: AgentRunner
beforeAll(async () => {
  host = await createTestHost({
    agents, clock, runAgent: (request, signal) => run(request, signal),
    tools: { pay: { gated: true, execute: () => 'paid' }, look: 'seen', sell: 'sold', long: 'x'.repeat(10) },
  })
})
afterAll(() => host.close())

const task = (agent: string, more: object = {}) => ({
  id: crypto.randomUUID(), name: 'task', arguments: { subagent_type: agent, prompt: 'go', ...more },
})
/** What came of calls of these tools in the session of the sub-agent. */
const calling = (...names: readonly string[]): AgentRunner => async ({ session }) => {
  const outcomes: string[] = []
  for (const name of names) {
    const outcome = await session.call({ id: crypto.randomUUID(), name, arguments: {} })
    outcomes.push(outcome.type === 'output' ? String(outcome.data) : outcome.error.code)
  }
  return { output: outcomes.join(' ') }
}

it('a task is for an agent of the host, and its manifest restricts it', async () => {
  let request: AgentRequest | undefined
  run = (given, signal) => {
    request = given
    return calling('pay', 'look', 'sell')(given, signal)
  }
  const session = await host.openSession({ mode: 'yolo' })
  expect(await session.call(task('clerk'))).toSucceedWith({ output: 'paid RuleDenied ToolNotRegistered' })
  expect(request!.agent).toMatchObject({ name: 'clerk', prompt: 'You pay bills.', model: 'small' })
  expect(request!.session.tools().map(({ name }) => name).toSorted()).toEqual(['look', 'pay', 'task'])
})

it('the model chooses among the agents of the host, with their descriptions', async () => {
  const session = await host.openSession({ mode: 'yolo' })
  const schemaOf = (tools: ReturnType<Session['tools']>) =>
    tools.find(({ name }) => name === 'task')!.inputSchema['properties']
  const choice = { enum: ['careful', 'clerk'], description: 'The type of agent to run.\ncareful\nclerk: Pays bills.' }
  expect(schemaOf(session.tools())).toMatchObject({ subagent_type: choice })
  expect(session.tools()).toBe(session.tools())
  expect(schemaOf(session.beginTurn().tools())).toMatchObject({ subagent_type: choice })
  expect(schemaOf(host.offeredTools(session))).toMatchObject({ subagent_type: choice })
  expect(host.tool('task')!.inputSchema['properties']).not.toHaveProperty('subagent_type.enum')
})

it('an agent brings its description, model settings, thinking level and strategy', async () => {
  let request: AgentRequest | undefined
  const running: string[] = []
  run = async (given) => {
    request = given
    const off = host.on(
      (event) =>
        void (event.type === 'ToolInvocationStarted' || event.type === 'ToolInvocationSucceeded'
          ? running.push(event.type.slice(14))
          : 0),
    )
    await given.session.callAll(['1', '2'].map((id) => ({ id, name: 'pay', arguments: {} })))
    off()
    return { output: 'done' }
  }
  const session = await host.openSession({ mode: 'yolo' })
  expect(await session.call(task('clerk'))).toSucceedWith({ output: 'done' })
  expect(request!.agent).toMatchObject({
    description: 'Pays bills.', thinkingLevel: 'low', modelSettings: { temperature: 0 }, strategy: 'sequential',
  })
  expect(running).toEqual(['Started', 'Succeeded', 'Started', 'Succeeded'])
})

it('a rule of the agent allows nothing that the parent does not', async () => {
  run = calling('pay')
  const denied = await host.openSession({ mode: 'yolo', rules: [{ permission: 'pay', pattern: '*', action: 'deny' }] })
  expect(await denied.call(task('clerk'))).toSucceedWith({ output: 'RuleDenied' })
  const narrow = await host.openSession({ mode: 'yolo', tools: ['task', 'look'] })
  expect(await narrow.call(task('clerk'))).toSucceedWith({ output: 'ToolNotRegistered' })
})

it('the person of the parent is asked, with the name of the agent', async () => {
  run = calling('pay', 'look')
  const approver = createScriptedApprover(['once', 'once', 'reject'])
  const session = await host.openSession({ approver })
  expect(await session.call(task('careful'))).toSucceedWith({ output: 'paid BudgetExhausted' })
  expect(approver.requests.map(({ tool, agent }) => [tool, agent])).toEqual([['task', undefined], ['pay', 'careful']])
})

it('an unknown agent is an error that lists the known ones', async () => {
  run = calling()
  const session = await host.openSession({ mode: 'yolo' })
  const outcome = await session.call(task('butler'))
  expect(outcome).toFailWith('AgentNotFound')
  expect(outcome).toMatchObject({
    error_text: expect.stringContaining('No agent is called "butler". Use one of: careful, clerk.'),
  })
})

it('the time of the call stops while the person of its sub-agent is asked', async () => {
  run = calling('pay')
  const asked = Promise.withResolvers<void>()
  const answer = Promise.withResolvers<'once'>()
  const approver = createScriptedApprover(['once', () => {
    asked.resolve()
    return answer.promise
  }])
  const session = await host.openSession({ approver })
  const paying = session.call(task('clerk'), { timeoutMs: 1_000 })
  await asked.promise
  await clock.advance(60_000)
  answer.resolve('once')
  expect(await paying).toSucceedWith({ output: 'paid' })
})

it('guards and limits apply to a result from the background', async () => {
  const seen: unknown[] = []
  const guard = {
    id: 'secrets',
    post: (_: unknown, body: { readonly type: string; readonly data?: unknown }) => {
      seen.push(body.data)
      return JSON.stringify(body).includes('secret')
        ? { action: 'deny' as const, reason: 'a secret' }
        : { action: 'allow' as const }
    },
  }
  const session = await host.openSession({ mode: 'yolo', guards: [guard] })
  const resultOf = async (output: string) => {
    run = async () => ({ output })
    await session.call(task('clerk', { background: true }))
    await ended(session)
    const { results: [result] } = session.beginTurn()
    await session.endTurn()
    return result!.outcome
  }
  expect(await resultOf('a secret')).toFailWith('GuardDenied')
  expect(seen).toContainEqual({ output: 'a secret' })
  const long = await resultOf('x'.repeat(300_000))
  expect(long.metadata).toMatchObject({ truncated: true, output_path: expect.any(String) })
  expect(JSON.stringify(long.type === 'output' && long.data).length).toBeLessThan(250_000)
  expect(JSON.stringify(long.content).length).toBeLessThan(250_000)
  // As data and as content it is one text.
  expect(statSync(long.metadata.output_path!).size).toBe(300_000)
})

/** Resolves when no background task of a session runs. */
async function ended(session: Session): Promise<void> {
  while (session.tasks().some(({ state }) => state === 'running')) await clock.advance(0)
}
