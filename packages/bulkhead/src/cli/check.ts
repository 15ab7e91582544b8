import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { styleText } from 'node:util'
import { conform, REQUIREMENTS, type ConformanceResult } from '@bulkhead/conformance'
import { BulkheadError, type ExtensionDescriptor } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { isJsonObject, parseJson, type JsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import { createSandbox } from '@bulkhead/sandbox'
import { printJson } from './output.ts'
import { defineCommand, UsageError } from './command.ts'
import { readExtensionFolder } from './pack.ts'
import { HOME_OPTIONS } from './host-options.ts'
import { extensionLines, line } from './review.ts'

export const check = defineCommand({
  usage: 'bulkhead check DIR [--config JSON] [--json] [--home DIR]',
  operands: { DIR: { text: 'folder of an extension', completes: 'folder' } },
  options: {
    config: {
      type: 'string', value: 'JSON',
      text: 'configuration to start it with; must match its configSchema (default: {})',
    },
    ...HOME_OPTIONS,
  },
  details: `For publishers. Verifies the folder as "pack" does, then runs the packed code in compartments without
permissions and tests it against the conformance requirements. Tools are called with unusual arguments and cannot
access anything. Nothing is written.`,
  exits: ['if the extension conforms', 'if it does not'],
  examples: [
    { command: 'bulkhead check ./word-count', text: 'before you publish' },
    { command: `bulkhead check ./word-count --config '{"language":"en"}'`, text: 'with a configuration' },
  ],

  async run({ values, positionals: [dir, ...more] }) {
    if (dir === undefined || more.length > 0) throw new UsageError('Name one folder after "check".')
    const config = readConfig(values.config)
    const { extension, warnings } = await readExtensionFolder(dir, values.home, config)
    const results = await conformAlone(extension, config ?? {})
    const conforms = results.every(({ ok }) => ok)
    if (values.json) printJson({ conforms, id: extension.id, version: extension.version, results, warnings })
    else {
      process.stdout.write([
        ...extensionLines(extension), ...warnings.map((text) => line('warning', text)), '', ...results.map(resultText),
        '', conforms ? 'It conforms.' : 'It does not conform.', '',
      ].join('\n'))
    }
    return conforms ? 0 : 1
  },
})

/** Runs in an empty folder, so that tools cannot read the files of the publisher. */
async function conformAlone(extension: ExtensionDescriptor, config: JsonObject): Promise<readonly ConformanceResult[]> {
  const workspace = emptyFolder()
  const sandbox = createSandbox({ workspace })
  try {
    return await conform({ extension, sandbox, config })
  } finally {
    await sandbox.close()
    rmSync(workspace, { recursive: true, force: true })
  }
}

function emptyFolder(): string {
  try {
    return realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-check-')))
  } catch (error) {
    const message = `Cannot create a temporary folder: ${messageOf(error)}. Set TMPDIR to a writable folder.`
    throw new BulkheadError('InstallFailed', message, { cause: error })
  }
}

const WIDTH = Math.max(...Object.keys(REQUIREMENTS).map(({ length }) => length))

function resultText(
  { requirement, ok, detail }: ConformanceResult, index: number, all: readonly ConformanceResult[],
): string {
  const verdict = ok ? styleText('green', 'ok  ') : styleText('red', 'FAIL')
  const result = `${verdict}  ${requirement.padEnd(WIDTH)}  ${REQUIREMENTS[requirement]}`
  if (detail === undefined) return result
  return `${result}\n      ${detail === all[index - 1]?.detail ? 'as above' : visibleText(detail)}`
}

function readConfig(text: string | undefined): JsonObject | undefined {
  if (text === undefined) return undefined
  const parsed = parseJson(text)
  if (!parsed.ok) throw new UsageError(`--config ${parsed.fault.message}.`)
  if (!isJsonObject(parsed.value)) throw new UsageError('--config must be a JSON object.')
  return parsed.value
}
