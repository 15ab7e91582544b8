import { attacksOf, DONE, refused, returned } from '../model/case.ts'
import type { Attack, AttackOptions } from '../model/case.ts'

const attack = attacksOf('P', { alone: true, control: 'none' })

/** A complete extension. Its tool runs `call`. */
const extension = (parts: string, call = "return 'answered'"): Pick<Attack, 'files'> => ({
  files: {
    'index.js': `${parts}\nexport default { ...phases, tools: { run: { async execute(args, runtime) { ${call} } } } }`,
  },
})
const CRASHED: Attack['script'] = [['call', refused('CompartmentCrashed')], ['ended', refused('CompartmentCrashed')]]
const HASTY_PHASE: AttackOptions = { limits: { phaseMs: 300 } }
const HASTY_START: AttackOptions = { limits: { startMs: 1_500 } }

/** An error in a timer is uncaught. */
const uncaught = (thrown: string): string => `setTimeout(() => { throw ${thrown} }); await new Promise(() => {})`

export const lifecycle = [
  attack(225, 'never ends a phase', '', [
    ['init', refused('LifecycleTimeout')], ['ended', refused('LifecycleTimeout')],
  ], {
    ...HASTY_PHASE, ...extension('const phases = { init: () => new Promise(() => {}) }'),
  }),
  attack(226, 'fails in every phase', '', [
    ['init', refused('LifecycleFailure')], ['activate', refused('LifecycleFailure')],
    ['deactivate', refused('LifecycleFailure')],
    ['dispose', refused('LifecycleFailure')], ['call', returned('answered')],
  ], extension(`
    const fail = () => { throw Object.assign(new Error('no'), { code: 'HostClosed' }) }
    const phases = { init: fail, activate: async () => fail(), deactivate: () => ({ then: fail }), dispose: fail }
  `)),
  attack(227, 'runs a phase that is requested twice',
    '', [['activate', DONE], ['activate', DONE], ['call', returned(2)]],
    extension('let times = 0; const phases = { activate() { times++ } }', 'return times')),
  attack(228, 'is called after the compartment ended', '', [['dispose', DONE], ['close', DONE], [
    'call', refused('CompartmentKilled'),
  ],
    ['close', DONE]],
    extension('const phases = { dispose() {} }')),
  attack(229, 'never ends its shutdown', '', [
    ['dispose', refused('LifecycleTimeout')], ['call', refused('CompartmentGone')],
  ], {
    ...HASTY_PHASE, ...extension('const phases = { async dispose() { for (;;); } }'),
  }),
  attack(230, 'runs an infinite loop while the process exits', `
    await attempt(() => use(process, 'on')('exit', () => { for (;;); }))
    try { Object.defineProperty(process, 'emit', { value: () => { for (;;); } }) } catch {}
    process.exit(0)
  `, CRASHED),
  attack(231, 'exits during calls', 'setTimeout(() => process.exit(0), 50); await new Promise(() => {})', [
    ['calls', refused('CompartmentCrashed')], ['ended', refused('CompartmentCrashed')],
  ]),
  attack(232, 'throws an uncaught error with the handler removed', `
    try { delete process._fatalException } catch {}
    for (const name of Object.getOwnPropertyNames(globalThis)) if (/^on/.test(name)) delete globalThis[name]
    ${uncaught("new Error('x')")}
  `, CRASHED),
  attack(233, 'throws undefined, uncaught', uncaught('null'), CRASHED),
  attack(295, 'throws a proxy, uncaught',
    uncaught("new Proxy({}, new Proxy({}, { get() { throw new Error('trap') } }))"), CRASHED),
  attack(296, 'throws a symbol, uncaught', uncaught("Symbol('x')"), CRASHED),
  attack(297, 'leaves a rejection unhandled',
    "Promise.reject(Object.create(null)); await new Promise(() => {})", CRASHED),
  attack(298, 'throws an error whose properties throw, uncaught', uncaught(`(() => {
    const error = new Error('x')
    for (const key of ['message', 'name', 'stack', 'code', 'cause']) Object.defineProperty(error, key,
      { get() { throw error } })
    error[Symbol.for('nodejs.util.inspect.custom')] = () => { for (;;) throw error }
    return error
  })()`), CRASHED),
  attack(234, 'throws an error of two hundred megabytes', "throw new Error('x'.repeat(2e8))",
    [['call', refused('ToolExecutionFailed')]], {
    limits: { heapMb: 768, memoryMb: 1_500 },
  }),
  attack(235, 'crashes again and again', 'process.exit(1)', [
    ['call', refused('CompartmentCrashed')], ['reopen', DONE], ['call', refused('CompartmentCrashed')],
    ['reopen', DONE],
    ['call', refused('CompartmentCrashed')], ['reopen', DONE], ['call', refused('CompartmentCrashed')],
  ]),
  attack(236, 'has code that cannot be imported', '', [['open', refused('CompartmentStartFailed')],
    ['reopen', refused('CompartmentStartFailed')]], {
    files: { 'index.js': 'throw new Proxy({}, { get() { throw null } })' },
  }),
  attack(299, 'never ends its import', '', [['open', refused('CompartmentStartTimeout')]],
    { ...HASTY_START, files: { 'index.js': 'await new Promise(() => {})' } }),
  attack(300, 'runs an infinite loop at import', '', [['open', refused('CompartmentStartTimeout')]],
    { ...HASTY_START, files: { 'index.js': 'for (;;);' } }),
  attack(301, 'exits at import', '', [['open', refused('CompartmentCrashed')]],
    { files: { 'index.js': 'process.exit(0)' } }),
  attack(237, 'keeps handles open so that the thread does not end', `
    setInterval(() => {}, 1)
    for (let at = 0; at < 100; at++) setTimeout(() => {}, 2 ** 30)
    const again = () => setImmediate(again)
    again()
    return 'answered'
  `, [['call', returned('answered')], ['call', returned('answered')], ['close', DONE], ['ended', DONE]]),
  attack(238, 'closes the port to the parent', `
    return {
      port: await attempt(async () => (await reach('worker_threads')).parentPort.close()),
      global: await attempt(() => use(globalThis, 'close')()),
      post: await attempt(() => use(globalThis, 'postMessage')('x')),
      self: await attempt(() => use(globalThis, 'self') && 'there'),
    }
  `, { port: 'BuiltinDenied', global: 'absent', post: 'absent', self: 'absent' }),
  attack(239, 'replies after the deadline', '', [['call', refused('ExecutionTimeout')], ['call', returned('second')],
    ['close', DONE]], {
    deadlineMs: 4_000, limits: { graceMs: 60_000 },
    ...extension('let calls = 0; const phases = {}',
      "if (++calls === 2) return 'second'; await new Promise((later) => setTimeout(later, 4_500)); return 'too late'"),
  }),
  attack(240, 'asks a person who answers by calling the same tool', '', [
    ['call', returned({ answer: 'inner' })],
  ], {
    requires: { capabilities: ['interact'] }, meanwhile: 'calls the tool that asks',
    ...extension('let depth = 0; const phases = {}',
      "if (depth++ > 0) return 'inner'; return { answer: await runtime.interact.ask('and then?') }"),
  }),
  attack(302, 'has an approval key function that loops, throws or returns no string', '',
    [['derive', refused('ExecutionTimeout')], ['ended', refused('CompartmentKilled')]], {
    deadlineMs: 300,
    files: { 'index.js': 'export default { tools: { run: { execute() {}, deriveApprovalKey() { for (;;); } } } }' },
  }),
  attack(303, 'throws error codes reserved for the host',
    "throw Object.assign(new Error('x'), { code: 'SessionCancelled', data: { code: 'HostClosed' } })", [
    ['call', refused('ToolExecutionFailed')],
  ]),
]
