import { manifestSchema } from '@bulkhead/contract/validation'
import { compareVersions } from '../../src/lock/version-bump.ts'
import { manifestOf, toolOf } from '../home-fixture.ts'

export type Over = Record<string, unknown>

export const compare = (before: Over, after: Over, files: [Over, Over] = [{}, {}]) => {
  const [a, b] = ([[before, files[0]], [after, files[1]]] as const).map(([manifest, contents]) => ({
    manifest: manifestSchema.parse(manifestOf({ tools: [toolOf()], ...manifest })),
    files: new Map(Object.entries(contents).map(([path, text]) => [path, Buffer.from(String(text))])),
  }))
  return compareVersions(a!, b!)
}
export const summary = (...given: Parameters<typeof compare>): readonly string[] =>
  compare(...given).changes.map(({ level, subject, path = '', text }) => `${level} ${subject} ${path} ${text}`)

export const tool = (over: Over) => ({ tools: [toolOf(over)] })
