import type { LayerConfig, Rule, RuleAction } from '@bulkhead/contract'
import { toGrida } from '@bulkhead/contract/dialects'
import { expect } from 'vitest'
import type { CallCheck } from '../../src/index.ts'
import { flush } from '../twin/clock.ts'
import { ScriptedApprover } from '../twin/people.ts'
import { verdictOf, type ToolSketch } from '../twin/world.ts'
import { A, B, KEYED, opened, proveAll, ran } from './requirement.ts'

const rule = (action: RuleAction, permission = 'echo', pattern = '*'): Rule => ({ permission, pattern, action })
const layer = (name: LayerConfig['layer'], ...rules: Rule[]): LayerConfig => ({
  layer: name, location: name, config: { rules },
})
const FREE: ToolSketch = { ...KEYED, gated: false, mode: 'read', requires: { fs: { read: ['{workspace}'] } } }

proveAll('grida', [
  {
    id: 'grida.rule-forms',
    statement: 'a rule names a tool, a capability or everything, by glob and prefix, and allows, denies or asks',
    async prove() {
      const verdictBy = async (...rules: Rule[]) => (await opened({ tool: FREE, rules })).verdict()
      expect(await verdictBy(rule('deny', 'echo', 'a'))).toEqual(['RuleDenied', 0])
      expect(await verdictBy(rule('deny', 'ec*', 'a*'))).toEqual(['RuleDenied', 0])
      const reader = await opened({ tool: FREE, rules: [rule('deny', 'fs.read', '**')] })
      expect(await reader.verdict()).toEqual(['output', 0])
      const [made] = reader.world.sandbox.compartments.flatMap(({ calls }) => calls)
      expect(made?.uses?.judge('fs.read', '/work space/a')).toMatchObject({ action: 'deny' })
      expect(await verdictBy(rule('deny', '*'))).toEqual(['RuleDenied', 0])
      expect(await verdictBy(rule('ask', 'echo', 'a'))).toEqual(['output', 1])
      expect(await verdictBy(rule('deny', 'echo', 'b'), rule('deny', 'net.fetch'))).toEqual(['output', 0])
      expect(await (await opened({ rules: [rule('allow', 'echo', 'a')] })).verdict()).toEqual(['output', 0])
    },
  },
  {
    id: 'grida.default-asks', statement: 'a call that no rule matches asks',
    overruledBy: 'nothing matched: gated → the mode decides, else allow',
    async prove() {
      expect(await (await opened()).verdict()).toEqual(['output', 1])
      expect(await (await opened({ tool: FREE })).verdict()).toEqual(['output', 0])
    },
  },
  {
    id: 'grida.most-specific-wins', statement: 'of the rules that match, the most specific decides, in any scope',
    async prove() {
      const cases: [Rule[], string][] = [
        [[rule('deny', '*'), rule('allow', 'echo', 'a')], 'output'],
        [[rule('allow', '*'), rule('deny', 'echo', 'a')], 'RuleDenied'],
        [[rule('allow', 'echo', 'a'), rule('deny', 'echo')], 'output'],
        [[rule('allow', 'fs.read'), rule('deny', 'ec*')], 'RuleDenied'],
      ]
      for (const [rules, expected] of cases) expect(await (await opened({ rules })).verdict()).toEqual([expected, 0])
    },
  },
  {
    id: 'grida.scopes',
    statement: 'manifest, project and session have rules; one inside another decides, and of equal ones the stricter',
    async prove() {
      const layers = [layer('project', rule('deny'))]
      expect(await (await opened({ world: { layers } })).verdict()).toEqual(['RuleDenied', 0])
      expect(await (await opened({ world: { layers }, rules: [rule('allow')] })).verdict()).toEqual(['RuleDenied', 0])
      const wide = [layer('project', rule('deny', '*'))]
      expect(await (await opened({ world: { layers: wide }, rules: [rule('allow')] })).verdict()).toEqual(['output', 0])
    },
  },
  {
    id: 'grida.manifest-deny-is-final', statement: 'no rule of a session or project overrides a deny of the manifest',
    async prove() {
      const layers = [layer('embedder', rule('deny', '*')), layer('project', rule('allow', 'echo', 'a'))]
      for (const mode of ['ask', 'yolo'] as const) {
        const { world, verdict } = await opened({ world: { layers }, rules: [rule('allow', 'echo', 'a')], mode })
        expect(await verdict()).toEqual(['RuleDenied', 0])
        expect(ran(world)).toEqual([])
      }
    },
  },
  {
    id: 'grida.headless-ask-is-deny', statement: 'without a user, every ask is a deny',
    async prove() {
      const watchdog: CallCheck = () => ({ action: 'ask', reason: 'hm' })
      for (const setting of [{}, { tool: FREE, rules: [rule('ask')] }, { tool: FREE, watchdog }]) {
        const { world, verdict } = await opened({ ...setting, person: undefined })
        expect(await verdict()).toEqual(['ApprovalDenied', 0])
        expect(ran(world)).toEqual([])
      }
    },
  },
  {
    id: 'grida.watchdog-sees-every-call',
    statement: 'the watchdog is asked before every call, gated or not, with tool, valid arguments and session',
    async prove() {
      const seen: unknown[] = []
      const { session, verdict } = await opened({
        tool: { ...FREE, inputSchema: { type: 'object', properties: { key: { type: 'string' } }, required: ['key'] } },
        watchdog: ({ tool, args, sessionId }) => {
          seen.push([tool.name, args, sessionId])
        },
      })
      expect(await verdict({ key: 7 })).toEqual(['InputInvalid', 0])
      expect(seen).toEqual([])
      expect(await verdict()).toEqual(['output', 0])
      expect(seen).toEqual([['echo', A, session.id]])
    },
  },
  {
    id: 'grida.watchdog-denies-with-a-reason',
    statement: 'a deny fails the call before it runs; the model gets the reason as a tool error and continues',
    async prove() {
      const watchdog: CallCheck = ({ approvalKey }) =>
        approvalKey === 'a' ? { action: 'deny', reason: 'looks like exfiltration' } : undefined
      const { world, call, verdict } = await opened({ tool: FREE, watchdog })
      const outcome = await call()
      expect(toGrida(outcome)).toMatchObject({
        type: 'error', error_text: expect.stringContaining('looks like exfiltration'),
      })
      expect(outcome).toMatchObject({ completion: { needsFollowup: true } })
      expect(ran(world)).toEqual([])
      expect(await verdict(B)).toEqual(['output', 0])
    },
  },
  {
    id: 'grida.watchdog-asks', statement: 'an ask shows the call to a person, who picks once, always or reject',
    async prove() {
      const watchdog = () => ({ action: 'ask', reason: 'a strange hour' }) as const
      for (const [person, expected] of [
        ['once', 'output'], ['session', 'output'], ['reject', 'ApprovalDenied'],
      ] as const) {
        const { approver, verdict } = await opened({ tool: FREE, watchdog, person })
        expect(await verdict()).toEqual([expected, 1])
        expect(approver.asked).toMatchObject([{ tool: 'echo', reasons: ['a strange hour'] }])
      }
    },
  },
  {
    id: 'grida.always-answers-the-watchdog',
    statement: 'always also answers the next question of the watchdog about the same call',
    async prove() {
      const { verdict } = await opened({
        tool: FREE, watchdog: () => ({ action: 'ask', reason: 'hm' }), person: 'session',
      })
      expect([await verdict(), await verdict()]).toEqual([
        ['output', 1], ['output', 0],
      ])
    },
  },
  {
    id: 'grida.watchdog-permits-nothing',
    statement: 'the watchdog cannot allow a call that the capabilities deny, and is not asked',
    async prove() {
      let calls = 0
      const watchdog = () => {
        calls++
        return { action: 'allow' } as const
      }
      const { verdict } = await opened({ ceiling: {}, watchdog, mode: 'yolo' })
      expect(await verdict()).toEqual(['CapabilityDenied', 0])
      expect(calls).toBe(0)
    },
  },
  {
    id: 'grida.watchdog-is-independent', statement: 'the watchdog can deny a call that the declared capabilities allow',
    async prove() {
      const watchdog: CallCheck = () => ({ action: 'deny', reason: 'no' })
      const { verdict } = await opened({ ceiling: { fs: { read: ['{workspace}'] } }, watchdog, mode: 'yolo' })
      expect(await verdict()).toEqual(['WatchdogDenied', 0])
    },
  },
  {
    id: 'grida.schema-failure-is-a-tool-error',
    statement: 'arguments that violate the schema are a tool error with its message, and no one is asked',
    async prove() {
      const { call, approver } = await opened()
      expect(await call({ key: 7 })).toMatchObject({
        error: { code: 'InputInvalid' }, error_text: expect.stringContaining('must be string'),
      })
      expect(approver.asked).toEqual([])
    },
  },
  {
    id: 'grida.requirements-are-compiled',
    statement: 'an unknown variable fails when the manifest is compiled; one without a value fails closed',
    async prove() {
      const unknown = await opened({ tool: { requires: { fs: { read: ['{workspce}'] } } } })
      expect(unknown.world.host.tools()).toEqual([])
      expect(unknown.world.host.diagnostics).toMatchObject([{ code: 'RequirementInvalid' }])
      const empty = await opened({ tool: { requires: { fs: { read: ['{ad-hoc}'] } } } })
      await empty.call({})
      expect(empty.world.compartment().request.tools).toMatchObject([{ grant: { fs: { read: [] } } }])
    },
  },
  {
    id: 'grida.each-tool-its-own',
    statement: 'another tool extends the reach of the session; each tool is confined to its own requirements',
    async prove() {
      const tools: Record<string, ToolSketch> = { echo: FREE, fetch: { requires: { net: { hosts: ['example.com'] } } } }
      const { world, verdict } = await opened({ extensions: [{ tools }] })
      await verdict()
      const { request } = world.compartment()
      const grants = request.tools.map(({ name, grant: { fs, net } }) => [name, fs.read.length, net.hosts.length])
      expect(grants).toEqual([
        ['echo', 1, 0], ['fetch', 0, 1],
      ])
    },
  },
  {
    id: 'grida.child-inherits-denials',
    statement: 'a sub-agent needs its own permission and that of its parent; a deny of the parent holds',
    async prove() {
      const { session } = await opened({ rules: [rule('deny', 'echo', 'a')], mode: 'yolo' })
      const rules = [rule('allow', 'echo', 'a'), rule('deny', 'echo', 'b')]
      const child = await session.openSubagent({ rules, mode: 'yolo' })
      for (const [key, expected] of [
        ['a', 'RuleDenied'], ['b', 'RuleDenied'], ['c', 'output'],
      ] as const) {
        expect(verdictOf(await child.call({ id: key, name: 'echo', arguments: { key } }))).toBe(expected)
      }
    },
  },
  {
    id: 'grida.always-settles-waiting-questions',
    statement: 'always also answers questions of the same kind that are waiting',
    async prove() {
      const approver = new ScriptedApprover()
      const { session } = await opened({ approver })
      const call = (id: string) => session.call({ id, name: 'echo', arguments: A })
      const outcomes = Promise.all([call('one'), call('two'), call('three')])
      await flush()
      approver.answer('session')
      expect((await outcomes).map(verdictOf)).toEqual(['output', 'output', 'output'])
      expect(approver.asked).toHaveLength(1)
    },
  },
])
