import { z } from 'zod'
import { defineExtension, defineTool } from '../src/author/index.ts'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false
const same = <A, B>(proof: Equal<A, B>): void => void proof

export const fromJsonSchema = defineExtension({
  env: ['WEATHER_TOKEN'],
  secrets: ['WEATHER_KEY'],
  tools: {
    forecast: {
      input: {
        type: 'object',
        properties: { city: { type: 'string' }, days: { type: 'integer' }, unit: { enum: ['C', 'F'] } },
        required: ['city'],
        additionalProperties: false,
      },
      requires: { net: { hosts: ['api.weather.example'] }, fs: { read: ['{workspace}/**'] } },
      async execute(args, runtime) {
        same<typeof args, { readonly city: string; readonly days?: number; readonly unit?: 'C' | 'F' }>(true)
        const token = await runtime.env.get('WEATHER_TOKEN')
        // @ts-expect-error a variable that was not declared
        await runtime.env.get('HOME')
        const key = await runtime.secrets.handle('WEATHER_KEY')
        // @ts-expect-error a secret that was not declared
        await runtime.secrets.handle('WEATHER_TOKEN')
        for await (const { path, change } of runtime.fs.watch('docs')) same<typeof change, 'created' | 'changed' | 'removed'>(path === '' || true)
        const text = await runtime.fs.readText(args.city)
        // @ts-expect-error only reading was declared
        await runtime.fs.write('a', 'b')
        // @ts-expect-error no command was declared
        await runtime.shell.run('ls')
        // @ts-expect-error no capability was declared
        await runtime.interact.ask('?')
        // @ts-expect-error no state slot
        await runtime.state.read()
        const answer = await runtime.net.fetch(
          'https://api.weather.example', { headers: { authorization: `Bearer ${key}` } },
        )
        runtime.progress('working')
        return { token, text, status: answer.status }
      },
      deriveApprovalKey: (args) => args.city,
    },
    count: {
      input: z.object({ word: z.string(), times: z.number().optional() }),
      execute(args, runtime) {
        same<typeof args, { word: string; times?: number | undefined }>(true)
        // @ts-expect-error nothing was declared
        void runtime.fs
        // @ts-expect-error nothing was declared
        void runtime.net
        runtime.log.info(args.word)
        return args.word.length
      },
    },
    write: {
      input: { type: 'object', properties: {} },
      requires: { fs: { write: ['out/**'] }, capabilities: ['interact'] },
      async execute(_args, runtime) {
        await runtime.fs.write('out/a', 'b')
        // @ts-expect-error only writing was declared
        await runtime.fs.read('out/a')
        // @ts-expect-error tools.call was not declared
        void runtime.tools
        return runtime.interact.confirm('sure?')
      },
    },
  },
})

export const single = defineTool({
  input: { type: 'object', properties: { list: { type: 'array', items: { type: 'number' } } }, required: ['list'] },
  requires: { shell: [{ cmd: 'git', args: ['status'] }] },
  async execute(args, runtime) {
    same<typeof args, { readonly list: readonly number[] }>(true)
    // @ts-expect-error no host was declared
    void runtime.net
    // @ts-expect-error no secret was declared
    void runtime.secrets
    return (await runtime.shell.run('git', ['status'])).stdout + args.list.length
  },
})

export const withState = defineExtension({
  stateType: { count: 0 } as { count: number },
  tools: {
    bump: {
      async execute(_args, runtime) {
        const before = await runtime.state.read()
        await runtime.state.write({ count: (before?.count ?? 0) + 1 })
        // @ts-expect-error the slot holds a number
        await runtime.state.write({ count: 'one' })
      },
    },
  },
})

// @ts-expect-error a tool without execute
export const wrong = defineExtension({ tools: { nothing: { input: { type: 'object' } } } })

const lookUp = defineTool({
  description: 'Looks up a word.', approvalKey: '{word}', mode: 'external', timeoutMs: 5_000,
  input: z.strictObject({ word: z.string(), limit: z.int().default(10) }),
  output: z.object({ meanings: z.array(z.string()) }),
  requires: { net: { hosts: ['words.example'] } },
  secrets: [{ name: 'WORDS_KEY', hosts: ['words.example'] }],
  async execute(args, runtime) {
    same<typeof args, { word: string; limit: number }>(true)
    await runtime.secrets.handle('WORDS_KEY')
    // @ts-expect-error a secret that was not declared
    await runtime.secrets.handle('OTHER_KEY')
    // @ts-expect-error no file was declared
    void runtime.fs
    return { meanings: [await (await runtime.net.fetch('https://words.example')).text()] }
  },
})

export const separate = defineExtension({ tools: { look_up: lookUp } })

export const wrongResult = defineTool({
  input: { type: 'object', properties: {} },
  output: { type: 'object', properties: { count: { type: 'integer' } }, required: ['count'] },
  // @ts-expect-error the result has a number
  execute: () => ({ count: 'one' }),
})

// @ts-expect-error a mode that does not exist
export const wrongMode = defineTool({ mode: 'fast', execute: () => 1 })

export const slotFromSchema = defineExtension({
  stateSlot: { slotVersion: '1', schema: z.object({ count: z.int() }) },
  secrets: [{ name: 'COUNT_KEY', commands: ['count'] }],
  tools: {
    bump: {
      async execute(_args, runtime) {
        const before = await runtime.state.read()
        await runtime.state.write({ count: (before?.count ?? 0) + 1 })
        await runtime.secrets.handle('COUNT_KEY')
        // @ts-expect-error the slot holds a number
        await runtime.state.write({ count: 'one' })
      },
    },
  },
})

/** A tool for `host.register` has a name. One for an extension may do without. */
export const named = defineTool({ name: 'price', input: { type: 'object' }, execute: () => null })
same<typeof named.name, 'price'>(true)
export const unnamed = defineTool({ input: { type: 'object' }, execute: () => null })
// @ts-expect-error it may have no name
export const nameOfUnnamed: string = unnamed.name
