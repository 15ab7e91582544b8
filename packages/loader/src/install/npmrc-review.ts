import { messageOf } from '@bulkhead/kit/error-message'
import { readProjectNpmrc } from '../trust/project-layer.ts'
import { readProjectSettings } from './npm-config.ts'

/**
 * What the `.npmrc` of a project would do, each as the end of a sentence. Does not repeat credentials. Empty without
 * such a file. Contract: never rejects.
 */
export async function reviewNpmrc(workspace: string): Promise<readonly string[]> {
  const file = readProjectNpmrc(workspace)
  if (!file.ok) return file.problem === 'missing' ? [] : [file.message]
  try {
    return Object.entries(await readProjectSettings(workspace)).map(([key, value]) => effectOf(key, value))
  } catch (error) {
    return [`cannot be used: ${messageOf(error)}`]
  }
}

const UNUSED = 'which Bulkhead does not use'

function effectOf(key: string, value: unknown): string {
  const text = (typeof value === 'string' ? value : JSON.stringify(value)).replaceAll(/\/\/[^/@]*@/g, '//…@')
  if (key.includes('${')) {
    const shown = /_auth|password/i.test(key) ? '' : ` = ${text}`
    return `sets ${key}${shown}, where variables of the environment change the name`
  }
  const scope = /^(?:(@[^:]+):)?registry$/.exec(key)
  if (scope !== null) {
    const of = scope[1] === undefined ? '' : ` of ${scope[1]}`
    return `installs packages${of} from ${text}${withWords(variablesIn(text))}`
  }
  const credential = /^\/\/(.*):(_authToken|_auth|_password|username)$/.exec(key)
  if (credential !== null) {
    return `sends ${variableWords(variablesIn(text)) || 'a value of its own'} to ${credential[1]} (${credential[2]})`
  }
  if (key === 'strict-ssl' && text !== 'true') return 'turns strict-ssl off: no package can be installed then'
  return `sets ${key}, ${UNUSED}`
}

/** As npm replaces them. */
const variablesIn = (text: string): readonly string[] =>
  [...text.matchAll(/\$\{([^${}?]+)\??\}/g)].map(([, name]) => name!)

const variableWords = (names: readonly string[]): string =>
  names.length === 0 ? '' : `the variable${names.length > 1 ? 's' : ''} ${names.join(', ')}`

const withWords = (names: readonly string[]): string => names.length === 0 ? '' : `, with ${variableWords(names)}`
