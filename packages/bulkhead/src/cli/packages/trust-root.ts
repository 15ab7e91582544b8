import { readFileSync, rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { BulkheadError } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { makeFolder } from '@bulkhead/kit/folders'
import type { Json } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import { ageInDays, parseTrustRoot, PUBLIC_GOOD_ROOT, refreshTrustRoot } from '@bulkhead/loader'
import { homeFolder } from '../../facade/folders.ts'
import { loaderOptions, TRUST_ROOT_FILE } from '../../facade/loader-options.ts'
import { printJson } from '../output.ts'
import { defineCommand, UsageError } from '../command.ts'
import { HOME_OPTIONS } from '../host-options.ts'
import { replaceFile } from '../write-file.ts'

export const trustRoot = defineCommand({
  usage: '[--refresh [--mirror --tuf-root] | --use | --reset]',
  options: {
    'refresh': {
      type: 'boolean', text: 'fetch the newest root from a TUF repository (default: the public sigstore instance)',
    },
    'mirror': { type: 'string', value: 'URL', text: 'fetch from this repository' },
    'tuf-root': {
      type: 'string', value: 'FILE', completes: 'file', text: 'initial root metadata for the repository',
    },
    'use': {
      type: 'string', value: 'FILE', completes: 'file',
      text: 'use this root, such as that of a private sigstore instance',
    },
    'reset': { type: 'boolean', text: 'use the root that ships with Bulkhead' },
    ...HOME_OPTIONS,
  },
  details: `The root is stored in ${TRUST_ROOT_FILE} of the global layer. Without it, the root that ships with
Bulkhead is used.`,
  examples: [
    { command: 'bulkhead trust-root', text: 'which root is used, and how old it is' },
    { command: 'bulkhead trust-root --refresh', text: 'fetch the newest one' },
  ],

  async run({ values }) {
    const asked = [values.refresh, values.use !== undefined, values.reset].filter((is) => is === true)
    if (asked.length > 1) throw new UsageError('--refresh, --use and --reset cannot be used together.')
    if (!values.refresh && (values.mirror ?? values['tuf-root']) !== undefined) {
      throw new UsageError('--mirror and --tuf-root require --refresh.')
    }
    const home = homeFolder(values.home)
    const path = join(home, TRUST_ROOT_FILE)
    if (values.refresh) {
      const { mirror, 'tuf-root': initialRoot } = values
      replace(path, await refreshTrustRoot({
        cacheFolder: join(home, 'tuf'), ...(mirror !== undefined && { mirror }),
        ...(initialRoot !== undefined && { initialRoot: resolve(initialRoot) }),
      }))
    } else if (values.use !== undefined) {
      replace(path, await parseTrustRoot(read(values.use)))
    } else if (values.reset) {
      change(path, () => rmSync(path, { force: true }))
    }
    const { trustRootSource: { source, date } = PUBLIC_GOOD_ROOT } = loaderOptions(home)
    const ageDays = ageInDays({ source, date, json: null })
    if (values.json) printJson({ source, date, ageDays })
    else process.stdout.write(`${visibleText(source)}${date === null ? '' : `, of ${date}, ${ageDays} days old`}\n`)
    return 0
  },
})

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const message = `"${path}" cannot be read: ${messageOf(error)}. Name a JSON file with a sigstore trusted root.`
    throw new BulkheadError('InstallSourceInvalid', message, { cause: error })
  }
}

function replace(path: string, root: Json): void {
  change(path, () => {
    makeFolder(dirname(path))
    replaceFile(path, JSON.stringify(root, null, 2) + '\n')
  })
}

function change(path: string, work: () => void): void {
  try {
    work()
  } catch (error) {
    throw new BulkheadError('InstallFailed', `${path} could not be written: ${messageOf(error)}`, { cause: error })
  }
}
