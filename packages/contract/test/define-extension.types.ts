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
        for await (const { path, change } of runtime.fs.watch('docs')) {
          same<typeof change, 'created' | 'changed' | 'removed'>(path === '' || true)
        }
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
  description: 'Shows the status.',
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
  description: 'Counts.',
  input: { type: 'object', properties: {} },
  output: { type: 'object', properties: { count: { type: 'integer' } }, required: ['count'] },
  // @ts-expect-error the result has a number
  execute: () => ({ count: 'one' }),
})

// @ts-expect-error a mode that does not exist
export const wrongMode = defineTool({ description: 'Counts.', mode: 'fast', execute: () => 1 })

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
export const named = defineTool({
  name: 'price', description: 'Names a price.', input: { type: 'object' }, execute: () => null,
})
same<typeof named.name, 'price'>(true)
export const unnamed = defineTool({ description: 'Names a price.', input: { type: 'object' }, execute: () => null })
// @ts-expect-error it may have no name
export const nameOfUnnamed: string = unnamed.name

// @ts-expect-error Property 'description' is missing
export const undescribed = defineTool({ input: { type: 'object' }, execute: () => null })

export const badName = defineExtension({
  tools: {
    // @ts-expect-error "get weather" cannot be the name of a tool. Begin with a letter, …
    'get weather': { execute: () => null },
    // @ts-expect-error "_hidden" cannot be the name of a tool. Begin with a letter, …
    '_hidden': lookUp,
    'get-weather_2': { execute: () => null },
  },
})
// @ts-expect-error "get.weather" cannot be the name of a tool. Begin with a letter, …
export const onlyBadName = defineExtension({ tools: { 'get.weather': { execute: () => null } } })
// @ts-expect-error "2nd" cannot be the name of a tool. Begin with a letter, and use letters, digits, _ and - only.
export const badOwnName = defineTool({ name: '2nd', description: 'Counts.', execute: () => null })
declare const made: `tool_${number}`
export const madeName = defineTool({ name: made, description: 'Counts.', execute: () => null })

const CITY = {
  type: 'object', properties: { city: { type: 'object', properties: { name: { type: 'string' } } } },
} as const
export const knownArgument = defineTool({
  description: 'Counts.', input: CITY, approvalKey: 'of {city.name}', execute: () => null,
})
export const unknownArgument = defineTool({
  description: 'Counts.', input: CITY, execute: () => null,
  // @ts-expect-error The input has no argument "town". Name one of its properties.
  approvalKey: '{city}/{town}',
})
export const unknownMember = defineTool({
  description: 'Counts.', input: z.strictObject({ city: z.string() }), execute: () => null,
  // @ts-expect-error The input has no argument "word". Name one of its properties.
  approvalKey: '{word.first}',
})
export const openInput = defineTool({
  description: 'Counts.', input: z.looseObject({}), approvalKey: '{word}', execute: () => null,
})
export const inline = defineExtension({
  tools: {
    good: { input: CITY, approvalKey: '{city}', execute: () => null },
    // @ts-expect-error The input has no argument "town". Name one of its properties.
    bad: { input: CITY, approvalKey: '{town}', execute: () => null },
  },
})

const SETTINGS = z.strictObject({ region: z.string().default('eu'), retries: z.int().optional() })
const apart = defineTool({
  description: 'Shows the region.', configSchema: SETTINGS, execute: (_args, { config }) => config.region.toUpperCase(),
})
export const configured = defineExtension({
  configSchema: SETTINGS,
  init(context) {
    same<typeof context.config, { region: string; retries?: number | undefined }>(true)
  },
  tools: {
    show: {
      execute(_args, runtime) {
        same<typeof runtime.config, { region: string; retries?: number | undefined }>(true)
        // @ts-expect-error a key that the schema does not have
        return runtime.config.zone
      },
    },
    apart,
  },
})
export const configuredByJson = defineExtension({
  configSchema: { type: 'object', properties: { region: { type: 'string' } }, required: ['region'] },
  tools: { show: { execute: (_args, { config }) => config.region.length } },
})
// @ts-expect-error no configSchema was declared
export const unconfigured = defineExtension({ tools: { show: { execute: (_args, runtime) => runtime.config } } })
