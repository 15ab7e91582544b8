import type { Approver, Interactor, MachineStage, StateMachine } from '@bulkhead/contract'
import { expect } from 'vitest'
import { flush } from '../twin/clock.ts'
import { ScriptedInteractor } from '../twin/people.ts'
import { MemoryStore } from '../twin/store.ts'
import { createWorld, verdictOf, type ToolSketch, type TwinRuntime } from '../twin/world.ts'
import { A, B, KEYED, opened, proveAll, ran } from './requirement.ts'

const machine = (...allowedTools: string[]): StateMachine => {
  const stage: MachineStage = { stageExecutionId: 's1', name: 'plan', attempt: 1, allowedTools }
  return { id: 'flow', stage: () => stage }
}
const no = () => ({ action: 'deny', reason: 'no' }) as const
const grants = (value: boolean) => new ScriptedInteractor(() => ({ status: 'accepted', value }))

proveAll('stud', [
  {
    id: 'stud.gated-runs-the-stack', statement: 'every invocation of a gated tool goes through mode and guards',
    async prove() {
      const called: string[] = []
      const { session, verdict } = await opened({ guards: [({ callId }) => { called.push(callId) }] })
      expect(await verdict()).toEqual(['output', 1])
      expect(await verdict()).toEqual(['output', 1])
      expect(called).toEqual(['c1', 'c2'])
      const { chain } = await session.explain({ id: 'x', name: 'echo', arguments: A })
      expect(chain.map(({ stage }) => stage)).toContain('security-mode')
    },
  },
  {
    id: 'stud.ungated-skips-the-stack',
    statement: 'a tool that is not gated runs without state machine, mode or guards',
    async prove() {
      const tool = { gated: false, mode: 'read', requires: {} } as const
      const { verdict } = await opened({ tool, guards: [no], stateMachine: machine(), person: undefined })
      expect(await verdict({})).toEqual(['output', 0])
    },
  },
  {
    id: 'stud.ungated-with-effects', statement: 'a tool with effects that declares itself ungated bypasses the stack',
    overruledBy: 'gated: false from a stranger is honoured only where its requirements have no effects',
    async prove() {
      const tool: ToolSketch = { gated: false, mode: 'safe_write', requires: { fs: { write: ['{workspace}'] } } }
      const { world, verdict } = await opened({ tool })
      expect(await verdict({})).toEqual(['output', 1])
      expect(world.host.tool('echo')).toMatchObject({ gated: true, gatedByHost: true })
    },
  },
  {
    id: 'stud.identity', statement: 'an approval is for one tool and one key',
    async prove() {
      const { verdict } = await opened({ extensions: [{ tools: { echo: KEYED, other: KEYED } }], person: 'session' })
      expect(await verdict(A)).toEqual(['output', 1])
      expect(await verdict(A)).toEqual(['output', 0])
      expect(await verdict(B)).toEqual(['output', 1])
      expect(await verdict(A, 'other')).toEqual(['output', 1])
    },
  },
  {
    id: 'stud.key-by-code', statement: 'deriveApprovalKey maps arguments to the key, and equivalent ones to the same',
    async prove() {
      const tool = { deriveApprovalKey: ({ path }: Record<string, unknown>) => String(path).split('/')[0] }
      const { approver, verdict } = await opened({ tool, person: 'session' })
      expect(await verdict({ path: 'docs/a' })).toEqual(['output', 1])
      expect(await verdict({ path: 'docs/b' })).toEqual(['output', 0])
      expect(await verdict({ path: 'src/a' })).toEqual(['output', 1])
      expect(approver.asked.map(({ approvalKey }) => approvalKey)).toEqual(['docs', 'src'])
    },
  },
  {
    id: 'stud.key-form',
    statement: 'a key is a string of 1 to 1024 bytes without control characters; any other value denies the call',
    async prove() {
      const code = async (key: unknown) => {
        const derived = () => {
          if (key instanceof Error) throw key
          return key
        }
        return (await (await opened({ tool: { deriveApprovalKey: derived } })).verdict({}))[0]
      }
      const bad = ['', 'a\nb', 'a\u007f', 'é'.repeat(513), 7, undefined]
      for (const key of bad) expect(await code(key)).toBe('ApprovalKeyInvalid')
      expect(await code(new Error('no'))).toBe('ApprovalKeyDerivationFailed')
      expect(await code('é'.repeat(512))).toBe('output')
    },
  },
  {
    id: 'stud.ask', statement: 'mode ask prompts for a new key, and approved keys last as long as the session',
    async prove() {
      const { world, verdict } = await opened({ person: 'session' })
      expect([await verdict(), await verdict()]).toEqual([['output', 1], ['output', 0]])
      const next = await world.host.openSession()
      expect(verdictOf(await next.call({ id: 'n', name: 'echo', arguments: A }))).toBe('ApprovalDenied')
    },
  },
  {
    id: 'stud.allowlist', statement: 'mode allowlist compares the key with its patterns and prompts on a miss',
    async prove() {
      const { verdict } = await opened({ config: { mode: 'allowlist', allowlist: ['echo:a*'] } })
      expect(await verdict({ key: 'a/b' })).toEqual(['output', 0])
      expect(await verdict(B)).toEqual(['output', 1])
      // Anchored, and only the star is special.
      expect(await verdict({ key: 'ba' })).toEqual(['output', 1])
    },
  },
  {
    id: 'stud.allowlist-names', statement: 'an entry of the allowlist can be the flat name, for every key',
    async prove() {
      const extensions = [{ tools: { echo: KEYED, echoes: KEYED } }]
      const { verdict } = await opened({ config: { mode: 'allowlist', allowlist: ['echo'] }, extensions })
      expect(await verdict(B)).toEqual(['output', 0])
      expect(await verdict(B, 'echoes')).toEqual(['output', 1])
    },
  },
  {
    id: 'stud.allowlist-hides-nothing',
    statement: 'the allowlist decides which calls run without a prompt, not which tools exist',
    async prove() {
      const { session, verdict } = await opened({ config: { mode: 'allowlist', allowlist: ['other'] } })
      expect(session.tools().map(({ name }) => name)).toEqual(['echo'])
      expect(await verdict()).toEqual(['output', 1])
    },
  },
  {
    id: 'stud.yolo', statement: 'mode yolo never prompts and looks up no approvals; denied calls stay denied',
    async prove() {
      const { session, verdict } = await opened({ mode: 'yolo' })
      expect(await verdict()).toEqual(['output', 0])
      expect(session.approvals()).toEqual([])
      expect(await (await opened({ mode: 'yolo', guards: [no] })).verdict()).toEqual(['GuardDenied', 0])
    },
  },
  {
    id: 'stud.mode-resolution', statement: 'the mode is that of the session, else that of the configuration, else ask',
    async prove() {
      expect(await (await opened({ config: { mode: 'yolo' } })).verdict()).toEqual(['output', 0])
      expect(await (await opened({ config: { mode: 'yolo' }, mode: 'ask' })).verdict()).toEqual(['output', 1])
      expect(await (await opened()).verdict()).toEqual(['output', 1])
      await expect(opened({ mode: 'sometimes' as 'ask' })).rejects.toMatchObject({ code: 'ConfigInvalid' })
    },
  },
  {
    id: 'stud.project-cache-is-opt-in',
    statement: 'only project approvals outlive the session, and they apply in the next host',
    async prove() {
      for (const [person, kept] of [['session', 0], ['project', 1]] as const) {
        const store = new MemoryStore()
        const first = await opened({ person, world: { store } })
        await first.call()
        await first.world.host.close()
        expect(await store.list('approval')).toHaveLength(kept)
        expect((await (await opened({ world: { store } })).verdict())[1]).toBe(1 - kept)
      }
    },
  },
  {
    id: 'stud.shadowing', statement: 'an approval is not inherited by an extension that takes over the name',
    async prove() {
      const { world, verdict } = await opened({ extensions: [{ id: 'a', tools: { echo: KEYED } }], person: 'session' })
      expect([await verdict(), await verdict()]).toEqual([['output', 1], ['output', 0]])
      world.find({
        extensions: [
          { id: 'a', tools: { echo: KEYED } }, { id: 'b', layer: 'project', tools: { echo: KEYED } },
        ],
      })
      await world.host.reload()
      expect(await verdict()).toEqual(['output', 1])
    },
  },
  {
    id: 'stud.sm-envelope', statement: 'tools that the stage of an attached state machine lists are approved',
    async prove() {
      const { world, verdict } = await opened({ stateMachine: machine('echo') })
      expect(await verdict()).toEqual(['output', 0])
      expect(world.eventsOf('ToolInvocationDecided')).toMatchObject([{ source: 'sm-envelope' }])
    },
  },
  {
    id: 'stud.sm-grant', statement: 'any other tool needs a grant of a person for the one call',
    async prove() {
      const interactor = grants(true)
      const { world, verdict } = await opened({ stateMachine: machine(), interactor, person: undefined })
      expect([await verdict(), await verdict()]).toEqual([['output', 0], ['output', 0]])
      expect(interactor.asked.map(({ request }) => request.kind)).toEqual(['grantStageTool', 'grantStageTool'])
      expect(world.eventsOf('ToolInvocationDecided').map(({ source }) => source)).toEqual([
        'sm-grant-token', 'sm-grant-token',
      ])
      for (const refusing of [grants(false), new ScriptedInteractor(() => ({ status: 'timeout' }))]) {
        const denied = await opened({ stateMachine: machine(), interactor: refusing, person: undefined })
        expect(await denied.verdict()).toEqual(['ApprovalDenied', 0])
      }
    },
  },
  {
    id: 'stud.guards-last',
    statement: 'guards run even after a state machine has approved, and the first that denies ends it',
    async prove() {
      const called: string[] = []
      const guards = [
        () => {
          called.push('one')
        },
        () => {
          called.push('two')
          return no()
        },
        () => {
          called.push('three')
        },
      ]
      const { world, verdict } = await opened({ stateMachine: machine('echo'), guards })
      expect(await verdict()).toEqual(['GuardDenied', 0])
      expect(called).toEqual(['one', 'two'])
      expect(ran(world)).toEqual([])
    },
  },
  {
    id: 'stud.denial-is-a-result',
    statement: 'a denied call ends as an ApprovalDenied result that the model sees, with the reason',
    async prove() {
      const refusing: Approver = { approve: async () => ({ decision: 'reject', reason: 'not today' }) }
      const { session, approver } = await opened({ approver: refusing })
      const outcome = await session.call({ id: 'c', name: 'echo', arguments: A })
      expect(outcome).toMatchObject({
        error: { code: 'ApprovalDenied' }, error_text: expect.stringContaining('not today'),
        completion: { needsFollowup: true },
      })
      expect(approver.asked).toEqual([])
    },
  },
  {
    id: 'stud.several-calls',
    statement: 'approvals of a response are asked in order; then all approved calls run, with results in order',
    async prove() {
      const gate = Promise.withResolvers<void>()
      const { world, session, approver } = await opened({
        tool: {
          ...KEYED,
          execute: async ({ key }) => {
            if (key === 'a') await gate.promise
            else gate.resolve()
            return key
          },
        },
        approver: { approve: async ({ approvalKey }) => ({ decision: approvalKey === 'b' ? 'reject' : 'once' }) },
      })
      const calls = ['a', 'b', 'c'].map((key) => ({ id: key, name: 'echo', arguments: { key } }))
      const outcomes = await session.callAll(calls)
      expect(outcomes.map(({ metadata }) => metadata.call_id)).toEqual(['a', 'b', 'c'])
      expect(outcomes.map(verdictOf)).toEqual(['output', 'ApprovalDenied', 'output'])
      expect(world.eventsOf('ToolInvocationDecided').map(({ callId }) => callId)).toEqual(['a', 'b', 'c'])
      expect(approver.asked).toEqual([])
    },
  },
  {
    id: 'stud.halt',
    statement: 'where the session halts, a call that cannot be approved ends the turn and nothing is dispatched',
    async prove() {
      const { world, session } = await opened({ person: undefined, headless: 'halt' })
      session.beginTurn()
      const calls = ['a', 'b'].map((key) => ({ id: key, name: 'echo', arguments: { key } }))
      expect((await session.callAll(calls)).map(verdictOf)).toEqual(['TurnCancelled', 'TurnCancelled'])
      expect(ran(world)).toEqual([])
    },
  },
  {
    id: 'stud.headless', statement: 'without a person every question halts the turn',
    overruledBy: 'headless: ask is deny (option: halt the turn)',
    async prove() {
      const { session, verdict } = await opened({ person: undefined })
      session.beginTurn()
      expect(await verdict()).toEqual(['ApprovalDenied', 0])
      expect(await verdict({ key: 'b' })).toEqual(['ApprovalDenied', 0])
    },
  },
  {
    id: 'stud.decisions-are-recorded',
    statement: 'every decision is in the audit with its source, tool, key, digest of the arguments and origin layer',
    async prove() {
      const { world, verdict } = await opened({ config: { audit: { enabled: true } } })
      await verdict()
      await world.host.flush()
      const records = (await world.store.records()).map(({ record }) => record)
      expect(records).toContainEqual(expect.objectContaining({
        type: 'ToolInvocationDecided', decision: 'allow', source: 'person', tool: 'echo', approvalKey: 'a',
        argsSha256: expect.stringMatching(/^[0-9a-f]{64}$/), origin: expect.objectContaining({ layer: 'global' }),
      }))
    },
  },
  {
    id: 'stud.prompts-by-protocol',
    statement: 'a tool asks people by the interaction protocol only, and cannot ask questions of the host',
    async prove() {
      const asking = async ({ services, callId, signal }: TwinRuntime) =>
        services.interact!(callId, { kind: 'grantStageTool' } as never, signal).catch(
          (thrown: { code: string }) => thrown.code,
        )
      const tool: ToolSketch = { requires: { capabilities: ['interact'] }, execute: (_, runtime) => asking(runtime) }
      expect(await (await opened({ tool })).call({})).toMatchObject({ data: 'CapabilityDenied' })
      const world = createWorld({ extensions: [{ tools: { echo: { gated: false, mode: 'read', requires: {} } } }] })
      await (await world.host.openSession()).call({ id: 'c', name: 'echo', arguments: {} })
      expect(world.compartment().request.services.interact).toBeUndefined()
    },
  },
  {
    id: 'stud.first-answer-counts',
    statement: 'of several interactors the first answer counts and the others are dismissed',
    async prove() {
      let dismissed: unknown
      const slow: Interactor = {
        interact: (_, signal) =>
          new Promise(() =>
            signal.addEventListener('abort', () => {
              dismissed = signal.reason
            }),
          ),
      }
      const quick = new ScriptedInteractor(() => ({ status: 'accepted', value: { decision: 'once' } }))
      const { verdict } = await opened({ interactor: [slow, quick], person: undefined })
      expect(await verdict()).toEqual(['output', 0])
      await flush()
      expect(dismissed).toMatchObject({ code: 'InteractionAlreadyAnswered' })
    },
  },
])
