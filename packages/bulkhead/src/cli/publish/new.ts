import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { BulkheadError, EXTENSION_ID_PATTERN, type InteractionRequest } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { makeFolder } from '@bulkhead/kit/folders'
import { visibleText } from '@bulkhead/kit/text'
import { defineCommand, UsageError } from '../command.ts'
import { terminal } from '../host-options.ts'
import { hint, printJson } from '../output.ts'
import { TEMPLATES, type TemplateName } from './templates.ts'

const NAMES = Object.keys(TEMPLATES) as readonly TemplateName[]
const DEFAULT = 'tool-ts'

export const newExtension = defineCommand({
  usage: 'DIR',
  operands: { DIR: { text: 'new or empty folder', completes: 'folder' } },
  options: {
    template: {
      type: 'string', value: 'NAME', values: NAMES, text: `what to write (default: ${DEFAULT}):
${NAMES.map((name) => `${name}: ${TEMPLATES[name].text}`).join('\n')}`,
    },
    ts: { type: 'boolean', text: 'the same as --template tool-ts' },
    name: { type: 'string', value: 'ID', text: 'id of the extension (default: the name of the folder)' },
    yes: { type: 'boolean', short: 'y', text: 'ask nothing, and use the defaults' },
    json: { type: 'boolean', text: 'print JSON, and ask nothing' },
  },
  details: `Writes a working example: a module, its tests, a README and a CI workflow. It conforms as it stands. At a
terminal, you are asked for what you leave out. "npm create bulkhead" is the same command.`,
  examples: [
    { command: 'bulkhead new word-count', text: 'a tool in TypeScript, with the commands to run next' },
    { command: 'bulkhead new pets --template openapi --yes', text: 'tools for an HTTP API, without a question' },
  ],

  async run({ values, positionals: [given, ...more] }) {
    if (more.length > 0) throw new UsageError('Name one folder after "new".')
    if (values.ts && values.template !== undefined && values.template !== 'tool-ts') {
      throw new UsageError(`--ts cannot be used with --template ${values.template}.`)
    }
    const ask = values.yes || values.json ? undefined : terminal()
    const dir = given ?? await answer(ask, { kind: 'Ask', prompt: 'In which folder?' })
    if (dir === undefined) throw new UsageError('Name one folder after "new".')
    const folder = resolve(dir)
    const id = values.name ?? basename(folder)
    if (!EXTENSION_ID_PATTERN.test(id)) {
      const form = 'Use a lower-case letter followed by up to 63 lower-case letters, digits or hyphens.'
      throw new UsageError(`"${id}" is not a valid extension id. ${form}`)
    }
    const chosen = values.template ?? (values.ts ? DEFAULT : await answer(ask, TEMPLATE_QUESTION)) ?? DEFAULT
    const files = TEMPLATES[chosen as TemplateName].files(id)
    write(folder, files)
    const names = Object.keys(files)
    if (values.json) printJson({ folder, id, files: names })
    else {
      const shown = visibleText(relative('.', folder) || '.')
      process.stdout.write(`Wrote ${names.length} files to ${shown}.\n${nextSteps(shown)}`)
    }
    return 0
  },
})

const TEMPLATE_QUESTION = {
  kind: 'Select', prompt: 'What do you want to write?',
  options: NAMES.map((name) => ({ label: name, description: TEMPLATES[name].text })),
} as const

/** undefined if there is no one to ask. Throws UsageError if the question is dismissed. */
async function answer(
  interactor: ReturnType<typeof terminal>, request: InteractionRequest,
): Promise<string | undefined> {
  if (interactor === undefined) return undefined
  const envelope = { correlationId: 'new', issuedAt: new Date().toISOString(), source: 'bulkhead', request }
  const answered = await interactor.interact(envelope, new AbortController().signal)
  if (answered.status === 'accepted' && typeof answered.value === 'string') return answered.value
  throw new UsageError('Nothing was written, because a question was not answered.')
}

/** Commands that work as printed, from here. */
function nextSteps(folder: string): string {
  const steps = [
    ...(folder === '.' ? [] : [[`cd ${shellWord(folder)}`]]),
    ['npm install'],
    ['npx bulkhead dev', 'call its tools, and see what they use; .exit ends it'],
    ['npm test', 'its tests and the conformance requirements'],
    ['npx bulkhead pack .', 'a tarball for others'],
  ]
  const lines = steps.map(([command = '', text]) => text === undefined ? command : `${command.padEnd(20)}  # ${text}`)
  return hint(`\n${lines.map((line) => `  ${line}\n`).join('')}\n`)
}

/** A path as one word of a shell that is no option. */
function shellWord(path: string): string {
  const word = path.startsWith('-') ? `./${path}` : path
  return /^[\w./@%+:,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

/** Removes the written files if one of them fails. */
function write(folder: string, files: Readonly<Record<string, string>>): void {
  const written: string[] = []
  try {
    makeFolder(folder)
    const [found] = readdirSync(folder)
    if (found !== undefined) {
      throw new BulkheadError('InstallFailed', `"${folder}" is not empty: it contains ${found}. Name another folder.`)
    }
    for (const [name, text] of Object.entries(files)) {
      const path = join(folder, name)
      makeFolder(dirname(path))
      written.push(path)
      writeFileSync(path, text, { flag: 'wx' })
    }
  } catch (error) {
    for (const path of written) rmSync(path, { force: true })
    throw BulkheadError.is(error)
      ? error
      : new BulkheadError('InstallFailed', `"${folder}" could not be written: ${messageOf(error)}`, { cause: error })
  }
}
