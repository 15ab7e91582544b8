import { BulkheadError, type NetRequest } from '@bulkhead/contract'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import type { DescribedBody, DescribedOperation, DescribedParameter } from '../reading/api-description.ts'
import { escaped, formText, queryPart, simpleText, Unwritable } from './serialize.ts'

export interface OutgoingRequest {
  readonly url: string
  readonly method: string
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: NonNullable<NetRequest['body']> | undefined
}

/** What a call sends. Throws InputInvalid for a value that would make it another request than the one that was described. */
export function requestOf(operation: DescribedOperation, base: string, args: JsonObject): OutgoingRequest {
  const { method, body: described } = operation
  const given = operation.parameters.flatMap((parameter): Given[] => {
    const value = valueOf(args, parameter.argument)
    // Models send null for what they leave out.
    return value === undefined || (value === null && parameter.in !== 'path') ? [] : [{ parameter, value }]
  })
  const inPlace = (place: DescribedParameter['in']) => given.filter(({ parameter }) => parameter.in === place)
  const parts = inPlace('query').map(({ parameter, value }) => writable(parameter.argument, () => queryPart(parameter, value))).filter((part) => part !== '')
  const body = described === null ? undefined : valueOf(args, described.argument)
  return {
    url: `${base}${pathOf(operation.path, inPlace('path'))}${parts.length === 0 ? '' : `?${parts.join('&')}`}`,
    method,
    headers: new Map([
      ['accept', 'application/json, text/*;q=0.9, */*;q=0.5'],
      ...inPlace('header').map(({ parameter, value }) => [parameter.name.toLowerCase(), headerText(parameter, value)] as const),
      ...(described !== null && body !== undefined ? [['content-type', described.mediaType] as const] : []),
    ]),
    body: described === null || body === undefined ? undefined : bodyText(described, body),
  }
}

interface Given {
  readonly parameter: DescribedParameter
  readonly value: Json
}

const valueOf = (args: JsonObject, name: string): Json | undefined => Object.hasOwn(args, name) ? args[name] : undefined

/** A value stays in its segment: what has a meaning there is escaped, and `..`, which has it even escaped, is refused. */
function pathOf(template: string, given: readonly Given[]): string {
  const byName = new Map(given.map(({ parameter, value }) => [parameter.name, { parameter, value }]))
  return template.split('/').map((segment) => {
    const filled = segment.replaceAll(/\{([^{}]+)\}/g, (_, name: string) => {
      const { parameter, value } = byName.get(name) ?? {}
      const text = parameter === undefined || value === undefined ? '' : simpleText(parameter, value, escaped)
      if (text === '') throw invalid(parameter?.argument ?? name, 'stands in the path and may not be empty')
      return text
    })
    const leadsAway = filled !== segment && /^\.{1,2}$/.test(filled)
    if (leadsAway) throw invalid(segment.replaceAll(/[{}]/g, ''), `may not be "${filled}", which leads to another path`)
    return filled
  }).join('/')
}

function headerText(parameter: DescribedParameter, value: Json): string {
  const text = simpleText(parameter, value, (part) => part)
  if (/^[\t\x20-\x7e\x80-\xff]*$/.test(text)) return text
  throw invalid(parameter.argument, 'goes into a header, and has line breaks or characters that none can carry')
}

function bodyText({ form, argument, fields }: DescribedBody, value: Json): string {
  switch (form) {
    case 'json':
      return JSON.stringify(value)
    case 'urlencoded':
      if (!isJsonObject(value)) throw invalid(argument, 'is to be an object of fields')
      return writable(argument, () => formText(value, fields))
    case 'text':
      if (typeof value !== 'string') throw invalid(argument, 'is to be a text')
      return value
  }
}

function writable(argument: string, write: () => string): string {
  try {
    return write()
  } catch (error) {
    throw error instanceof Unwritable ? invalid(argument, error.message) : error
  }
}

const invalid = (argument: string, why: string): BulkheadError =>
  new BulkheadError('InputInvalid', `The argument "${argument}" ${why}. Nothing was sent.`, { data: { argument } })
