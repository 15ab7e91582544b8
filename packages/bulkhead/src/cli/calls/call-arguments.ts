import { readFileSync } from 'node:fs'
import { text as readAll } from 'node:stream/consumers'
import { messageOf } from '@bulkhead/kit/error-message'
import { parseJson, type Json } from '@bulkhead/kit/json'
import { UsageError } from '../command.ts'

/** The value of `--args`: JSON, `-` for the standard input, or `@` and a file. */
export async function readArguments(given = '{}'): Promise<Json> {
  const parsed = parseJson(await argumentsText(given))
  if (!parsed.ok) {
    throw new UsageError(`--args ${parsed.fault.path === '' ? '' : `at ${parsed.fault.path} `}${parsed.fault.message}.`)
  }
  return parsed.value
}

async function argumentsText(given: string): Promise<string> {
  if (given === '-') return readAll(process.stdin)
  if (!given.startsWith('@')) return given
  try {
    return readFileSync(given.slice(1), 'utf8')
  } catch (error) {
    throw new UsageError(`--args: "${given.slice(1)}" cannot be read: ${messageOf(error)}`)
  }
}
