import { execute, extension, input, shout, SHOUT_CODE, withCode, withTool, WORD, type SloppyExample } from './parts.ts'

const sleep = (ms: number): string => `await new Promise((done) => setTimeout(done, ${ms}))`
const config = (properties: Parameters<typeof input>[0]) =>
  ({ configSchema: input(properties, []) })
const NAME = { type: 'string', maxLength: 40, description: 'A name.' }
const slot = (schema: Parameters<typeof input>[0], driftPolicy = 'reject') =>
  ({ stateSlot: { slotVersion: '2', schema, driftPolicy } })
const COUNTED = { type: 'object', properties: { count: { type: 'integer', maximum: 1e6 } } }

/** Faults that show when an extension is configured, stopped, reloaded or used for long. */
export const SLOPPY_SERVICES: Readonly<Record<string, SloppyExample>> = {
  'a deactivate that drops running calls': {
    ...withCode(`let stop
      export default {
        deactivate() { stop?.() },
        tools: { shout: { async execute({ text }) {
          await new Promise((done) => {
            setTimeout(done, 20)
            stop = () => queueMicrotask(() => { throw new Error('the pool is closed') })
          })
          stop = undefined
          return { text: String(text) }
        } } } }\n`),
    fails: ['drain'],
  },
  'a stop that waits for a cancelled call': {
    ...withCode(`let open = 0
      export default {
        deactivate() { if (open > 0) throw new Error('calls are running') },
        tools: { shout: { async execute({ text }, { signal }) {
          open++
          await new Promise((done, fail) => {
            setTimeout(done, 5)
            signal.addEventListener('abort', () => fail(signal.reason))
          })
          open--
          return { text: String(text) }
        } } } }\n`),
    fails: ['drain', 'stop-after-cancel'],
  },
  'an activate that restores nothing': {
    ...withCode(`let words = 'ready'
      export default {
        deactivate() { words = undefined },
        tools: { shout: { execute: ({ text }) => ({ text: String(text) + words.length }) } } }\n`),
    fails: ['reactivate-serves'],
  },
  'a lock that only one generation can hold': {
    ...withTool({}, slot({ type: 'object', properties: { owner: { type: 'number', minimum: 0, maximum: 1 } } })),
    code: `const own = Math.random()
      export default { tools: { shout: { async execute({ text }, runtime) {
        const { owner = own } = await runtime.state.read() ?? {}
        if (owner !== own) throw new Error('Another process holds the lock.')
        await runtime.state.write({ owner: own })
        return { text: String(text) }
      } } } }\n`,
    fails: ['reload', 'state-accepts'],
  },
  'a start that complains': {
    ...withCode(execute('return { text }', 'init({ log }) { log.warn("no cache found, creating one") },')),
    fails: ['start-log'],
  },
  'configuration that the schema allows and init refuses': {
    ...withTool(
      {}, config({ name: NAME, volume: { type: 'integer', minimum: 0, maximum: 99, description: 'How loud.' } }),
    ),
    code: execute(
      'return { text }',
      `init({ config }) {
      if (typeof config.name !== 'string') throw new Error('name is missing')
      if (config.volume > 11) throw new Error('volume is too large')
    },`,
    ),
    fails: [
      'lifecycle-order', 'dispose-idempotent', 'deactivate-idempotent', 'activate-again', 'restarts', 'config-valid',
      'config-missing', 'config-worst',
    ],
    skips: ['calls', 'delivery', 'state', 'reload', 'leaks', 'abort', 'keys', 'powers'],
  },
  'a key that has no effect, and a value that ends the start': {
    ...withTool({}, config({ name: NAME, size: { type: 'integer', minimum: 0, maximum: 9, description: 'A size.' } })),
    code: execute(
      'return { text }',
      `init({ config }) {
      if (config.size !== undefined && typeof config.size !== 'number') process.exit(1)
    },`,
    ),
    fails: ['config-invalid', 'config-used'],
  },
  'state of another form': {
    ...withTool({}, slot({ type: 'object', properties: { last: { type: 'integer', maximum: 9 } } })),
    code: execute('await runtime.state.read(); await runtime.state.write({ last: text }); return { text }'),
    fails: ['state-schema'],
  },
  'a tool that trusts its stored state': {
    ...withTool(
      {}, slot({ type: 'object', properties: { words: { type: 'array', items: { type: 'string' }, maxItems: 9 } } }),
    ),
    code: execute(`const { words } = await runtime.state.read() ?? { words: ['none'] }
      await runtime.state.write({ words: [...words.slice(0, 1), String(text)] })
      return { text: String(text) }`),
    fails: ['state-accepts'],
  },
  'a migration that is declared and missing': {
    ...withTool({}, slot(COUNTED, 'migrate')),
    code: execute('await runtime.state.read(); return { text }'), fails: ['state-migrates'],
  },
  'a migration to another form': {
    ...withTool({}, slot({ ...COUNTED, required: ['count'] }, 'migrate')),
    code: execute(
      'await runtime.state.read(); return { text }',
      'migrateState({ data }) { return { slotVersion: "2", data: { total: data.count ?? 0 } } },',
    ),
    fails: ['state-migration-valid'],
  },
  'arguments that cannot exist': {
    ...withTool({ inputSchema: input({ text: { ...WORD, minLength: 20, maxLength: 2 } }) }),
    code: SHOUT_CODE, fails: ['input-satisfiable'],
  },
  'calls that share a variable': {
    ...withCode(`let current
      export default { tools: { shout: { async execute({ text }) {
        current = text
        ${sleep(2)}
        return { text: String(current) }
      } } } }\n`),
    fails: ['parallel-same'],
  },
  'an idempotent tool that appends': {
    ...withTool({
      idempotent: true, gated: true, mode: 'safe_write', approvalKey: '{text}',
      requires: { fs: { read: ['{workspace}/log.txt'], write: ['{workspace}/log.txt'] } },
    }),
    code: execute(`const known = await runtime.fs.readText('log.txt').catch(() => '')
      await runtime.fs.write('log.txt', known.slice(-500) + '.')
      return { text }`),
    fails: ['idempotent-effect'],
  },
  'a tool with effects none that can write': {
    ...withTool({
      effects: 'none', gated: true, mode: 'safe_write', approvalKey: '{text}',
      requires: { fs: { write: ['{workspace}/log.txt'] } },
    }),
    code: execute(`await runtime.fs.write('log.txt', text)
      return { text }`),
    fails: ['effects-none'],
  },
  'a tool with effects reversible that cannot be reverted': {
    ...withTool({
      effects: 'reversible', gated: true, mode: 'safe_write', approvalKey: '{text}',
      requires: { fs: { write: ['{workspace}/log.txt'] } },
    }),
    code: execute(`await runtime.fs.write('log.txt', text)
      return { text }`),
    fails: ['effects-reversible'],
  },
  'results that are no JSON, too large, or empty': {
    manifest: extension(
      'sample',
      ['map', 'flood', 'void'].map((name) =>
        shout({ name: `shout_${name}`, description: `Shouts with ${name}, as others do.`, outputSchema: null! }),
      ),
    ),
    code: `export default { tools: {
      shout_map: { execute: ({ text }) => text?.length > 5 ? new Map([[text, 1]]) : { text } },
      shout_flood: { execute: ({ text }) => text?.length > 5 ? 'x'.repeat(9_000_000) : { text } },
      shout_void: { execute: () => undefined } } }\n`,
    fails: ['output-declared', 'output-json', 'output-limit', 'output-content'],
  },
  'a tool that talks too much': {
    ...withCode(
      execute(`if (text === 'README.md') {
        for (let i = 0; i < 1_200; i++) runtime.update({ text: i })
        for (let i = 0; i < 150; i++) console.log('line ' + i)
        runtime.progress('\\u001b[1m' + 'working '.repeat(200))
      }
      if (text?.length > 100) throw { reason: 'too long' }
      return { text: String(text) }`),
    ),
    fails: ['error-text', 'progress-short', 'update-bounded', 'log-bounded'],
  },
  'examples that do not hold': {
    ...withTool({
      examples: [
        { arguments: { text: 'a' }, result: { text: 'B' } }, { arguments: { text: 'c' }, error: 'NotFound' },
      ],
    }),
    code: SHOUT_CODE, fails: ['examples-outcome'],
  },
  'timers that are never cleared': {
    ...withCode(`setInterval(() => undefined, 60_000)
      export default { tools: { shout: { execute({ text }) {
        setTimeout(() => undefined, 60_000)
        return { text: String(text) }
      } } } }\n`),
    fails: ['call-timers', 'dispose-timers'],
  },
  'a cache without a limit': {
    ...withCode(`const cache = []
      export default { tools: { shout: { execute({ text }) {
        cache.push(Array.from({ length: 20_000 }, (_, i) => text + i))
        return { text: String(text) }
      } } } }\n`),
    fails: ['call-memory'],
  },
  'a tool that tries again after its deadline': {
    ...withCode(`let calls = 0
      export default { tools: { shout: { async execute({ text }, { signal }) {
        if (++calls > 1) return { text: String(text) }
        for (let i = 0; i < 200; i++) {
          ${sleep(10)}
          const reason = String(signal.reason?.message ?? signal.reason)
          if (signal.aborted && /Cancelled/.test(reason)) throw new Error('stopped')
        }
        return { text: String(text) }
      } } } }\n`),
    fails: ['deadline'],
  },
  'calls that share a controller': {
    ...withCode(`let shared = new AbortController()
      let calls = 0
      export default { tools: { shout: { async execute({ text }, { signal }) {
        signal.addEventListener('abort', () => { shared.abort(new Error('stopped')); shared = new AbortController() })
        const { signal: both } = shared
        await new Promise((done, fail) => {
          const timer = setTimeout(done, ++calls > 2 ? 5 : 400)
          both.addEventListener('abort', () => { clearTimeout(timer); fail(both.reason) })
        })
        return { text: String(text) }
      } } } }\n`),
    fails: ['abort-others'],
  },
  'approval keys that no one can read': {
    ...withTool({ inputSchema: input({ text: WORD, tone: { ...WORD, description: 'A tone.' } }) }),
    code: `const digit = (text, i) => ((text.charCodeAt(i % text.length) * (i + 7)) % 16).toString(16)
      const digest = (text) => Array.from({ length: 40 }, (_, i) => digit(text, i)).join('')
      export default { tools: { shout: {
        execute: ({ text }) => ({ text: String(text) }),
        deriveApprovalKey: ({ text, tone }) => digest(text + tone) } } }\n`,
    fails: ['key-readable', 'key-unambiguous'],
  },
  'a client without encryption': {
    ...withTool({
      mode: 'external', gated: true, approvalKey: '{text}', requires: { net: { hosts: ['api.example.com'] } },
    }),
    code: execute(`await runtime.net.fetch('http://api.example.com/?q=' + encodeURIComponent(text)); return { text }`),
    fails: ['power-https'],
  },
  'a client that never asks': {
    ...withTool({
      mode: 'external', gated: true, approvalKey: '{text}', requires: { net: { hosts: ['api.example.com'] } },
    }),
    code: execute('throw new Error("The service is not available.")'),
    fails: ['call-succeeds', 'power-reached', 'power-used-hosts'],
  },
}
