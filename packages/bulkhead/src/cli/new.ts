import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join, relative, resolve } from 'node:path'
import { BulkheadError, CONTRACT_VERSION, EXTENSION_ID_PATTERN, MANIFEST_FILE } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { makeFolder } from '@bulkhead/kit/folders'
import { CORE_VERSION } from '../facade/version.ts'
import { hint, printJson } from './output.ts'
import { defineCommand, UsageError } from './command.ts'

export const newExtension = defineCommand({
  usage: 'bulkhead new DIR [--json]',
  operands: { DIR: { text: 'new or empty folder; its name becomes the id of the extension', completes: 'folder' } },
  options: { json: { type: 'boolean', text: 'print JSON' } },
  details: 'Writes a working example: a manifest and a module with a tool that counts the words of a file.',
  examples: [{ command: 'bulkhead new word-count', text: 'the folder word-count, ready for "bulkhead conformance"' }],

  async run({ values, positionals: [dir, ...more] }) {
    if (dir === undefined || more.length > 0) throw new UsageError('Name one folder after "new".')
    const folder = resolve(dir)
    const id = basename(folder)
    if (!EXTENSION_ID_PATTERN.test(id)) {
      const form = 'Use a lower-case letter followed by up to 63 lower-case letters, digits or hyphens.'
      throw new UsageError(`"${id}" is not a valid extension id. ${form}`)
    }
    const files = { [MANIFEST_FILE]: manifestOf(id), 'index.js': moduleOf(id) }
    write(folder, files)
    const shown = relative('.', folder)
    if (values.json) printJson({ folder, id, files: Object.keys(files) })
    else {
      process.stdout.write([
        `Wrote ${Object.keys(files).map((name) => join(shown, name)).join(' and ')}.\n`,
        hint([
          '', `  bulkhead conformance ./${shown}    # test it against the conformance requirements`,
          `  bulkhead install ./${shown}        # then: bulkhead call ${id} --args '{"path":"README.md"}'`,
          `  bulkhead pack ./${shown}           # a tarball for others`, '',
        ].join('\n')),
      ].join(''))
    }
    return 0
  },
})

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
      written.push(join(folder, name))
      writeFileSync(join(folder, name), text, { flag: 'wx' })
    }
  } catch (error) {
    for (const path of written) rmSync(path, { force: true })
    throw BulkheadError.is(error)
      ? error
      : new BulkheadError('InstallFailed', `"${folder}" could not be written: ${messageOf(error)}`, { cause: error })
  }
}

const manifestOf = (id: string): string => `${JSON.stringify({
  kind: 'Tool', contractVersion: CONTRACT_VERSION, requiredCoreVersion: `^${CORE_VERSION}`,
  id, version: '0.1.0', title: id, description: 'Counts words in the files of a project.', main: './index.js',
  tools: [{
    name: id,
    description: 'Counts the words of a text file.',
    inputSchema: {
      type: 'object', required: ['path'], additionalProperties: false,
      properties: {
        path: { type: 'string', minLength: 1, maxLength: 500, description: 'Path of the file in the workspace.' },
      },
    },
    outputSchema: {
      type: 'object', required: ['path', 'words'],
      properties: { path: { type: 'string' }, words: { type: 'integer', description: 'The number of words.' } },
    },
    requires: { fs: { read: ['{workspace}/**'] } },
    approvalKey: '{path}',
    mode: 'read',
  }],
}, null, 2)}\n`

const moduleOf = (id: string): string => `import { defineExtension } from '@bulkhead/contract/author'

export default defineExtension({
  tools: {
    '${id}': {
      async execute({ path }, runtime) {
        runtime.progress(\`counting \${path}\`)
        const text = await runtime.fs.readText(path)
        return { path, words: text.split(/\\s+/).filter(Boolean).length }
      },
    },
  },
})
`
