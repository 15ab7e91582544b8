import {
  actionWords, capabilitiesMeant, isCapability, type ResolvedConfig, type RuleCapability, type ScopedRule, type ToolListing,
} from '@bulkhead/contract'
import { configuredRules, ruleName, type Host, type Session } from '@bulkhead/host'
import { matchSegment } from '@bulkhead/kit/glob'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'

/** A rule of the configuration, and a call that it decides. */
export interface RuleProof extends Pick<ScopedRule, 'author' | 'permission' | 'pattern' | 'action' | 'passkey' | 'source' | 'line'> {
  /** null: it decides none of the calls that were tried. */
  readonly call: TriedCall | null
}

interface TriedCall {
  readonly name: string
  readonly arguments: JsonObject
}

/** For each rule, explains calls that it should match, until it decides one. Runs nothing. */
export async function ruleProofs(
  host: Pick<Host, 'openSession' | 'tools'>, config: ResolvedConfig,
): Promise<readonly RuleProof[]> {
  const rules = configuredRules(config)
  if (rules.length === 0) return []
  const session = await host.openSession()
  try {
    const tools = host.tools()
    const proofs: RuleProof[] = []
    for (const rule of rules) {
      const { author, permission, pattern, action, passkey, source, line } = rule
      const call = await decidedBy(rule, callsFor(permission, pattern, tools), session)
      proofs.push({
        author, permission, pattern, action, ...(passkey && { passkey }), source, ...(line !== undefined && { line }),
        call: call ?? null,
      })
    }
    return proofs
  } finally {
    await session.close()
  }
}

async function decidedBy(
  rule: ScopedRule, calls: readonly TriedCall[], session: Pick<Session, 'explain'>,
): Promise<TriedCall | undefined> {
  const name = ruleName(rule)
  for (const call of calls) {
    const { chain } = await session.explain({ id: 'tried', ...call })
    // Two rules in one line can differ in the action alone.
    if (chain.some(({ action, rules = [] }) => (action === 'pass' || action === rule.action) && rules.includes(name))) return call
  }
  return undefined
}

/** Bundled tools that use a capability with what their arguments name. */
const USERS: Readonly<Record<RuleCapability, readonly string[]>> = {
  'fs.read': ['read', 'grep'], 'fs.write': ['write'], 'shell.run': ['bash'], 'net.fetch': ['web_fetch'],
}
/** Their arguments say most, so they are tried first. */
const FIRST = Object.values(USERS).flat()
/** How many tools are tried that a pattern names. */
const MOST_TOOLS = 20

function callsFor(permission: string, pattern: string, tools: readonly ToolListing[]): readonly TriedCall[] {
  const ofTool = (tool: ToolListing): boolean => matchSegment(permission, tool.name) || matchSegment(permission, sourceOf(tool))
  // A misspelt capability that denies or asks stands for those that begin like it.
  const meant = isCapability(permission) ? [permission] : tools.some(ofTool) ? [] : capabilitiesMeant(permission) ?? []
  const isNamed = meant.length === 0 ? ofTool : ({ name }: ToolListing) => meant.some((one) => USERS[one].includes(name))
  const place = ({ name }: ToolListing): number => (FIRST.indexOf(name) + FIRST.length + 1) % (FIRST.length + 1)
  const named = tools.filter(isNamed).toSorted((a, b) => place(a) - place(b)).slice(0, MOST_TOOLS)
  const subjects = textsMatching(pattern)
  return named.flatMap((tool) => subjects.flatMap((subject) =>
    argumentsWith(tool.inputSchema, subject).map((args) => ({ name: tool.name, arguments: args }))))
}

const sourceOf = ({ server, name }: ToolListing): string =>
  server === undefined ? name : `${server.kind}:${server.name}:${name}`

/** What wildcards are filled with. */
const FILLINGS: readonly (readonly string[])[] = [['x'], [], ['x', 'y']]

function textsMatching(pattern: string): readonly string[] {
  const texts = FILLINGS.map((names) => pattern.split('/')
    .flatMap((part) => part === '**' ? names : [part.replaceAll('*', names[0] ?? '')]).join('/'))
  return [...new Set([...texts, ...texts.map((text) => text.replace(/^\{workspace\}\//, ''))])]
    .filter((text) => text !== '')
}

/** Arguments in which a text is the subject, for each text that the tool takes. Other required ones have any value. */
function argumentsWith(schema: JsonObject, subject: string): readonly JsonObject[] {
  const properties = partsOf(schema['properties'])
  const fillers = requiredOf(schema)
  const texts = Object.keys(properties).filter((name) => partsOf(properties[name])['type'] === 'string')
  const valueOf = (name: string): string =>
    name === 'url' && !/^https?:/.test(subject) ? `https://${subject.replaceAll('*', 'x')}/` : subject
  return [...texts.map((name) => ({ ...fillers, [name]: valueOf(name) })), fillers]
}

const partsOf = (schema: Json | undefined): JsonObject => isJsonObject(schema) ? schema : {}

function requiredOf(schema: JsonObject): JsonObject {
  const { required, properties } = schema
  const names = Array.isArray(required) ? required.map(String) : []
  return Object.fromEntries(names.map((name) => [name, valueFor(partsOf(partsOf(properties)[name]))]))
}

/** A schema of a third party can ask for any number. */
const MOST_ITEMS = 8

function valueFor(schema: JsonObject): Json {
  const { const: only, enum: values, type, items, minItems = 0, minimum = 1 } = schema
  if (only !== undefined) return only
  if (Array.isArray(values)) return values[0] ?? null
  if (type === 'object') return requiredOf(schema)
  if (type === 'array') return Array.from({ length: Math.min(Number(minItems), MOST_ITEMS) }, () => valueFor(partsOf(items)))
  if (type === 'boolean') return true
  return type === 'number' || type === 'integer' ? minimum : 'x'
}

export const ruleText = (rule: RuleProof): string => `${rule.permission} ${rule.pattern} ${actionWords(rule)}`

/** A call as a person would write it. */
export const callText = ({ call }: RuleProof): string =>
  call === null ? 'none of the calls that were tried' : visibleText(`${call.name} ${JSON.stringify(call.arguments)}`)
