import type { Example } from './package-of.ts'
import { extension, input, NAME, object, one, PATH, PAUSE, SHOUT, SHOUT_CODE, WORD } from './parts.ts'

/** Extensions that pass every check but the signature. */
export const GOOD: Readonly<Record<string, Example>> = {
  'a pure function': { manifest: extension('shout', [SHOUT]), code: SHOUT_CODE },

  'a reader of files': one(
    'count_words',
    {
      description: 'Counts the words of a text file.', mode: 'read', approvalKey: '{path}',
      inputSchema: input({ path: PATH }), outputSchema: object({ words: { type: 'integer' } }),
      requires: { fs: { read: ['{workspace}/**'] } },
      examples: [{ arguments: { path: 'README.md' } }, { arguments: { path: 'missing.md' }, error: 'NotFound' }],
    },
    `  try {
    const text = await runtime.fs.readText(args.path)
    return { words: text.split(/\\s+/).filter(Boolean).length }
  } catch (error) {
    if (error.code === 'CapabilityDenied') throw error
    throw new ToolError('NotFound', 'The file cannot be read.')
  }`,
  ),

  'a client of an API with a secret': {
    ...one(
      'forecast',
      {
        description: 'Fetches the weather forecast of a city.', approvalKey: '{city}', mode: 'external',
        inputSchema: input({ city: WORD }), outputSchema: { type: 'object', additionalProperties: { type: 'string' } },
        requires: { net: { hosts: ['api.example.com'] } },
      },
      `  const key = await runtime.secrets.handle('WEATHER_KEY')
  const url = 'https://api.example.com/v1/forecast?city=' + encodeURIComponent(args.city)
  const response = await runtime.net.fetch(url, { headers: { authorization: 'Bearer ' + key } })
  if (response.status !== 200) throw new ToolError('NotFound', 'There is no such city.')
  return await response.json()`,
      { secrets: [{ name: 'WEATHER_KEY', hosts: ['api.example.com'] }] },
    ),
    files: {
      'fixtures/http.json': JSON.stringify({ 'api.example.com': [{ path: '/v1/forecast', body: { sky: 'clear' } }] }),
      'fixtures/secrets.json': JSON.stringify({ WEATHER_KEY: 'a-key-for-tests-only' }),
    },
  },

  'a writer of files': one(
    'save_note',
    {
      description: 'Saves a note under a name, and replaces an earlier one.', mode: 'safe_write', kind: 'edit',
      approvalKey: '{name}', idempotent: true, inputSchema: input({ name: NAME, text: WORD }),
      outputSchema: object({ path: { type: 'string' } }), requires: { fs: { write: ['{workspace}/notes/**'] } },
      examples: [{ arguments: { name: 'idea', text: 'Sleep more.' }, result: { path: 'notes/idea.txt' } }],
    },
    `  const path = 'notes/' + args.name + '.txt'
  await runtime.fs.write(path, args.text)
  return { path }`,
  ),

  'a user of a command': one(
    'recent_commits',
    {
      description: 'Lists the latest commits of the repository.', mode: 'local', kind: 'execute',
      approvalKey: '{count}',
      inputSchema: input({ count: { type: 'integer', minimum: 1, maximum: 50, description: 'How many.' } }),
      outputSchema: object({ commits: { type: 'array', items: { type: 'string' } } }),
      requires: { shell: [{ cmd: 'git', args: ['log', '--oneline', { prefix: '-n' }] }] },
    },
    `  const { exitCode, stdout, stderr } = await runtime.shell.run('git', ['log', '--oneline', '-n' + args.count])
  if (exitCode !== 0) throw new Error('git failed: ' + stderr.slice(0, 200))
  return { commits: stdout.split('\\n').filter(Boolean) }`,
  ),

  'a store with a migration': {
    manifest: extension(
      'bookmarks',
      [
        {
          name: 'add_bookmark', description: 'Keeps the address of a page under a name.', mode: 'safe_write',
          approvalKey: '{name}', inputSchema: input({ name: NAME, page: WORD }),
          outputSchema: object({ count: { type: 'integer' } }),
        },
        {
          name: 'list_bookmarks', description: 'Returns all pages that were kept, by name.', mode: 'read', gated: false,
          inputSchema: input({}), outputSchema: object({ pages: { type: 'object' } }),
        },
      ],
      {
        stateSlot: {
          slotVersion: '2', driftPolicy: 'migrate',
          schema: {
            ...object({ pages: { type: 'object', additionalProperties: { type: 'string' } } }),
            additionalProperties: false,
          },
        },
      },
    ),
    code: `const load = async (runtime) => await runtime.state.read() ?? { pages: {} }

export default {
  migrateState({ slotVersion, data }) {
    if (slotVersion !== '1') throw new Error('unknown version')
    const list = Array.isArray(data) ? data : []
    const pages = Object.fromEntries(list.map((page, index) => ['page' + index, String(page)]))
    return { slotVersion: '2', data: { pages } }
  },
  tools: {
    add_bookmark: { async execute({ name, page }, runtime) {
      const { pages } = await load(runtime)
      const next = { ...pages, [name]: page }
      await runtime.state.write({ pages: next })
      return { count: Object.keys(next).length }
    } },
    list_bookmarks: { execute: (_, runtime) => load(runtime) },
  },
}
`,
  },

  'a tool with configuration': {
    manifest: extension(
      'distance',
      [
        {
          name: 'convert_distance', description: 'Converts a distance to the configured unit.', mode: 'read',
          gated: false,
          inputSchema: input({
            metres: { type: 'number', minimum: 0, maximum: 1e9, description: 'The distance in metres.' },
          }),
          outputSchema: object({ value: { type: 'number' }, unit: { type: 'string' } }),
        },
      ],
      {
        configSchema: input(
          {
            unit: { enum: ['km', 'mi'], default: 'km', description: 'The unit of results.' },
            digits: { type: 'integer', minimum: 0, maximum: 6, default: 2, description: 'Digits after the point.' },
          },
          ['unit'],
        ),
      },
    ),
    code: `const METRES = { km: 1000, mi: 1609.344 }
let settings

export default {
  init({ config }) { settings = { unit: config.unit, digits: config.digits ?? 2 } },
  tools: { convert_distance: { execute({ metres }) {
    return { value: Number((metres / METRES[settings.unit]).toFixed(settings.digits)), unit: settings.unit }
  } } },
}
`,
  },

  'a long task with progress': one(
    'split_text',
    {
      description: 'Splits a text into words, step by step, and reports progress.', mode: 'read', gated: false,
      inputSchema: input({ text: WORD }), outputSchema: object({ words: { type: 'array', items: { type: 'string' } } }),
    },
    `  const words = []
  const all = args.text.split(' ')
  for (const [index, word] of all.entries()) {
    runtime.signal.throwIfAborted()
    if (index % 10 === 0) {
      runtime.progress('word ' + index + ' of ' + all.length)
      runtime.update({ words: index })
      await pause(1, runtime.signal)
    }
    words.push(word)
  }
  return { words }`,
    {}, PAUSE,
  ),

  'several tools in several files': {
    manifest: extension('text-tools', [
      {
        name: 'reverse_text', description: 'Reverses the characters of a text.', mode: 'read', gated: false,
        idempotent: true, inputSchema: input({ text: WORD }),
        outputSchema: object({ text: { type: 'string' } }),
        examples: [{ arguments: { text: 'abc' }, result: { text: 'cba' } }],
      },
      {
        name: 'repeat_text', description: 'Repeats a text a number of times.', mode: 'read', gated: false,
        idempotent: true,
        inputSchema: input({
          text: WORD, times: { type: 'integer', minimum: 1, maximum: 20, description: 'How often.' },
        }),
        outputSchema: object({ text: { type: 'string' } }),
      },
      {
        name: 'measure_text', description: 'Counts the characters and the lines of a text.', mode: 'read', gated: false,
        inputSchema: input({ text: WORD }),
        outputSchema: object({ characters: { type: 'integer' }, lines: { type: 'integer' } }),
      },
    ]),
    files: {
      'lib/text.js': `export const reversed = (text) => [...text].reverse().join('')
export const measured = (text) => ({ characters: [...text].length, lines: text.split('\\n').length })
`,
    },
    code: `import { measured, reversed } from './lib/text.js'

export default { tools: {
  reverse_text: { execute: ({ text }) => ({ text: reversed(String(text)) }) },
  repeat_text: { execute: ({ text, times }) => (
    { text: String(text).repeat(Math.min(20, Math.max(1, Math.round(times) || 1))) }) },
  measure_text: { execute: ({ text }) => measured(String(text)) },
} }
`,
  },

  'a search in files': one(
    'find_text',
    {
      description: 'Finds the lines of Markdown files that contain a word.', mode: 'read', kind: 'search',
      approvalKey: '{word}',
      inputSchema: input({ word: { type: 'string', pattern: '^[A-Za-z]{1,40}$', description: 'A word.' } }),
      outputSchema: object({
        lines: { type: 'array', items: object({ path: { type: 'string' }, line: { type: 'integer' } }) },
      }),
      requires: { fs: { read: ['{workspace}/**/*.md'] } }, idempotent: true,
      examples: [{ arguments: { word: 'words' } }],
    },
    `  const { matches } = await runtime.fs.search(args.word, { glob: '*.md', limit: 100 })
  return { lines: matches.map(({ path, line }) => ({ path, line })) }`,
  ),

  'a question to a person': one(
    'choose_colour',
    {
      description: 'Asks the user which colour to use, and returns it.', mode: 'local', gated: false,
      inputSchema: input({ question: WORD }), outputSchema: object({ colour: { type: 'string' } }),
      requires: { capabilities: ['interact'] },
    },
    `  const options = ['red', 'blue'].map((value) => ({ value, label: value }))
  const colour = await runtime.interact.select(args.question, options).catch(() => 'none')
  return { colour }`,
  ),

  'a caller of other tools': {
    manifest: extension('callers', [
      {
        name: 'shout_twice', description: 'Returns the text twice in capital letters.', mode: 'local',
        inputSchema: input({ text: WORD }),
        outputSchema: object({ text: { type: 'string' } }),
        requires: { capabilities: ['tools.call'] }, approvalKey: '{text}',
      },
      { ...SHOUT, description: 'Returns one text in capital letters.' },
    ]),
    code: `export default { tools: {
  shout_twice: { async execute({ text }, { tools }) {
    const outcome = await tools.call('shout', { text: String(text).slice(0, 200) || '-' })
    if (outcome.type === 'error') throw new Error(outcome.error_text)
    return { text: outcome.data.text + ' ' + outcome.data.text }
  } },
  shout: { execute: ({ text }) => ({ text: String(text).toUpperCase() }) },
} }
`,
  },

  'a memory of the session': one(
    'count_uses',
    {
      description: 'Counts how often it was called in this session.', mode: 'local', gated: false,
      inputSchema: input({}), outputSchema: object({ uses: { type: 'integer' } }),
      requires: { capabilities: ['session'] },
    },
    `  const { uses = 0 } = await runtime.session.read() ?? {}
  await runtime.session.write({ uses: uses + 1 })
  return { uses: uses + 1 }`,
  ),

  'a remover with its own approval key': {
    manifest: extension('cleaner', [
      {
        name: 'delete_draft', description: 'Deletes a draft and says whether there was one.', mode: 'destructive',
        kind: 'delete', inputSchema: input({ name: NAME }), outputSchema: object({ deleted: { type: 'boolean' } }),
        idempotent: true, requires: { fs: { write: ['{workspace}/drafts/*.txt'] } },
      },
    ]),
    code: `const pathOf = (name) => 'drafts/' + name + '.txt'

export default { tools: { delete_draft: {
  deriveApprovalKey: ({ name }) => pathOf(name),
  async execute({ name }, runtime) {
    const deleted = await runtime.fs.remove(pathOf(name)).then(() => true, (error) => {
      if (error.code === 'CapabilityDenied') throw error
      return false
    })
    return { deleted }
  },
} } }
`,
  },
}
