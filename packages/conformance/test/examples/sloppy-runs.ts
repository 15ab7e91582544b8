import { execute, extension, shout, withCode, withTool, type SloppyExample } from './parts.ts'

/** Faults that a run shows, by what is wrong. */
export const SLOPPY_RUNS: Readonly<Record<string, SloppyExample>> = {
  'another export': {
    ...withCode('export default { tools: { whisper: { execute: () => 1 } } }\n'), fails: ['exports'],
    skips: ['lifecycle', 'calls', 'config', 'delivery', 'state', 'reload', 'leaks', 'abort', 'keys', 'powers'],
  },
  'phases that cannot be repeated': {
    ...withCode(
      execute(
        'return { text }',
        `init() { globalThis.ready = 1 },
      activate() { if (globalThis.active !== undefined) throw new Error('again'); globalThis.active = true },
      deactivate() { if (!globalThis.active) throw new Error('not active'); globalThis.active = false },
      dispose() { if (globalThis.ready !== 1) throw new Error('not ready'); globalThis.ready = 0 },`,
      ),
    ),
    fails: ['dispose-idempotent', 'dispose-without-init', 'deactivate-idempotent', 'activate-again'],
  },
  'a phase that fails': {
    ...withCode(execute('return { text }', 'activate() { throw new Error("no credentials") },')),
    fails: ['lifecycle-order', 'dispose-idempotent', 'deactivate-idempotent', 'activate-again', 'restarts'],
    skips: ['calls', 'delivery', 'state', 'reload', 'leaks', 'abort', 'keys', 'powers'],
  },
  'a tool that crashes on long text': {
    ...withCode(
      execute(
        `if (text?.length > 1000) queueMicrotask(() => { throw new Error('boom') }); return { text: String(text) }`,
      ),
    ),
    fails: ['call-survives'],
  },
  'a tool for one call at a time': {
    ...withCode(`let open = 0
      export default { tools: { shout: { async execute({ text }) {
        if (++open > 10) await new Promise(() => queueMicrotask(() => { throw new Error('busy') }))
        await new Promise((done) => setTimeout(done, 5))
        open--
        return { text: String(text) }
      } } } }\n`),
    fails: ['call-parallel'],
  },
  'a tool that always fails': { ...withCode(execute('throw new Error("Not today.")')), fails: ['call-succeeds'] },
  'a tool that hides its rules': {
    ...withCode(execute('throw Object.assign(new Error("Only on Sundays."), { code: "InputInvalid" })')),
    fails: ['call-succeeds', 'call-accepts-valid'],
  },
  'a tool that returns another form': {
    ...withCode(execute('return { words: [text] }')), fails: ['output-schema', 'output-mcp'],
  },
  'a tool that tells too much': {
    manifest: extension('sample', [shout({ outputSchema: { type: 'object', additionalProperties: true } })], {
      env: ['LANGUAGE'],
    }),
    code: execute(`const language = await runtime.env.get('LANGUAGE')
      const long = '\\u001b[31m' + 'x'.repeat(300_000)
      return { language, home: '/home/alice/notes', text: long, at: crypto.randomUUID() }`),
    fails: [
      'gated-effects', 'mode-declared', 'package-machine-paths', 'output-size', 'output-secrets', 'output-paths',
      'output-characters', 'read-deterministic',
    ],
  },
  'a tool with unreadable errors': {
    manifest: extension('sample', [shout({ outputSchema: { type: 'object', additionalProperties: true } })]),
    code: execute(`if (text === 'README.md') for (let i = 0; i < 1500; i++) runtime.progress('step ' + i)
      if (text === '.') throw new Error('failed\\n    at shout (index.js:3:7)')
      if (text?.length > 100) throw new Error('x'.repeat(3_000))
      return { text: String(text) }`),
    fails: ['error-message', 'error-stack', 'progress-bounded'],
  },
  'a tool that cannot be cancelled': {
    ...withCode(
      execute(
        'if (!globalThis.used) { globalThis.used = true; await new Promise((done) => setTimeout(done, 2_000)) } '
          + 'return { text }',
      ),
    ),
    fails: ['abort', 'deadline', 'stop-after-cancel'],
  },
  'a tool that cannot be repeated': {
    ...withTool({
      idempotent: true, gated: true, mode: 'safe_write', approvalKey: '{text}',
      requires: { fs: { read: ['{workspace}/notes/**'], write: ['{workspace}/notes/**'] } },
    }),
    code: execute(`const path = 'notes/' + encodeURIComponent(text).slice(0, 60)
      const known = await runtime.fs.readText(path).catch(() => undefined)
      if (known !== undefined) throw new Error('It exists.')
      await runtime.fs.write(path, text)
      return { text }`),
    fails: ['idempotent-repeats'],
  },
  'a tool that is too slow': {
    manifest: extension('sample', [shout({ timeoutMs: 300 })]),
    code: execute(`const { signal } = runtime
      await new Promise((done) => { setTimeout(done, 5_000); signal.addEventListener('abort', done) })
      return { text }`),
    fails: ['tool-timeout-short', 'call-in-time', 'call-succeeds', 'drain'],
  },
  'a tool that runs on': {
    // Few lines, so that a slow machine does not see a flood.
    ...withCode(
      execute(
        `setInterval(() => globalThis.lines++ < 90 && console.log('still here'), 5); return { text }`,
        'init() { globalThis.lines = 0 },',
      ),
    ),
    fails: ['abort-quiet', 'call-timers', 'dispose-timers'],
  },
  'a tool that is broken after a cancellation': {
    ...withCode(
      execute(`if (globalThis.aborted) await new Promise(() => queueMicrotask(() => { throw new Error('locked') }))
      if (!globalThis.used) await new Promise((done) => {
        globalThis.used = true
        setTimeout(done, 1_000)
        runtime.signal.addEventListener('abort', () => { globalThis.aborted = true; done() })
      })
      return { text }`),
    ),
    fails: ['abort-next'],
  },
  'a tool that reads what it does not declare': {
    ...withTool({ requires: { fs: { read: ['{workspace}/docs/**'] } } }),
    code: execute('return { text: await runtime.fs.readText("README.md") }'),
    fails: ['call-succeeds', 'power-declared', 'power-used-read'],
  },
  'a random approval key': {
    ...withTool({}),
    code: `export default { tools: { shout: {
      execute: ({ text }) => ({ text }), deriveApprovalKey: ({ text }) => text + Date.now() + Math.random() } } }\n`,
    fails: ['key-deterministic'],
  },
  'an approval key that fails': {
    ...withTool({}),
    code: `export default { tools: { shout: {
      execute: ({ text }) => ({ text }),
      deriveApprovalKey: ({ text }) => {
        if (text.length > 150) throw new Error('too long')
        return text.length > 8 ? '' : 'say'
      } } } }\n`,
    fails: ['key-derives', 'key-valid', 'key-distinct'],
  },
}
