import {
  capabilitiesMeant, isCapability, RULE_CAPABILITIES, type Diagnostic, type LayerConfig, type RuleAction, type RuleCapability,
} from '@bulkhead/contract'
import { hostPattern } from '@bulkhead/contract/validation'
import { matchSegment } from '@bulkhead/kit/glob'
import { pointerStep } from '@bulkhead/kit/json'
import { closeNames, visibleText } from '@bulkhead/kit/text'
import { canonicalToolName, spellings, toolsSelectedBy } from '@bulkhead/contract/dialects'
import { isEveryTool, readAllowlistEntry, type AllowlistEntry } from './allowlist-entry.ts'
import { diagnosticLayer, writtenPlace } from './settings.ts'

/** Where tools, extensions, servers and capabilities are named, by a configuration or by the options of a session. */
export type Naming = Pick<LayerConfig, 'layer' | 'location' | 'omitted'> & {
  readonly config: Pick<LayerConfig['config'], 'rules' | 'tools' | 'allowlist' | 'roles' | 'extensions' | 'policy'>
  /** All tools that a session is offered. */
  readonly offered?: readonly string[] | undefined
}

/**
 * The names that configuration can use: tools, extensions and servers, also disabled ones and those that failed to
 * load.
 */
export interface KnownNames {
  /** Tools that are offered now. */
  readonly offered: ReadonlySet<string>
  readonly tools: ReadonlySet<string>
  readonly extensions: ReadonlySet<string>
  /** Of sessions so far, and those that later sessions may have. */
  readonly roles: ReadonlySet<string>
  /** Such as mcp:github and openapi:petstore. */
  readonly servers: ReadonlySet<string>
  /** Tools of servers by where they come from, such as mcp:github:create_issue. */
  readonly sources: ReadonlySet<string>
}

interface Finding {
  readonly path: string
  readonly message: string
  readonly cure: string
}

/**
 * Unknown names, each with the nearest known one. They stay in force, because they may be meant for tools that are
 * installed later.
 */
export function unknownNames(namings: readonly Naming[], known: KnownNames): readonly Diagnostic[] {
  return namings.flatMap((naming) => {
    const { layer, location } = naming
    return findings(naming, known).map((finding): Diagnostic => ({
      severity: 'warning', stage: 'configSchema', code: 'ConfigInvalid',
      layer: diagnosticLayer(layer), extensionId: null,
      location, ...finding,
    }))
  })
}

function findings(naming: Naming, known: KnownNames): readonly Finding[] {
  const { rules = [], tools = {}, allowlist = [], roles = {}, extensions = {}, policy = {} } = naming.config
  const at = (path: string, found: Omit<Finding, 'path'> | undefined): readonly Finding[] =>
    found ? [{ path, ...found }] : []
  return [
    ...rules.flatMap(({ permission, pattern, action }, index) => {
      const place = writtenPlace(naming, '/rules', index)
      const isTool = known.tools.has(permission)
      return [
        ...at(`${place}/permission`, unknownPermission(permission, action, known)),
        ...at(`${place}/pattern`, isTool || !isOfHosts(permission) ? undefined : unknownHosts(pattern)),
      ]
    }),
    ...Object.keys(tools).flatMap((name) => at(`/tools${pointerStep(name)}`, unknownTool(name, known))),
    ...allowlist.flatMap((entry, index) =>
      at(writtenPlace(naming, '/allowlist', index), unknownListed(readAllowlistEntry(entry), known))),
    ...Object.keys(roles)
      .flatMap((flag) => at(`/roles${pointerStep(flag)}`, unknownRole(flag.replace(/^allow_/, ''), known))),
    ...Object.keys(extensions).flatMap((id) => at(`/extensions${pointerStep(id)}`, unknownExtension(id, known))),
    ...(['identities', 'scopes'] as const).flatMap((part) => Object.keys(policy[part] ?? {}).flatMap((key) =>
      at(`/policy/${part}${pointerStep(key)}`, unknownExtension(key, known)))),
    ...(naming.offered ?? []).flatMap((name, index) => at(`/tools/${index}`, unknownOffer(name, known))),
  ]
}

/** `mcp:github`, alone or before a tool. */
const SERVER = /^(mcp:[^:.]+)(?:[:.]|$)/

/** A rule may name a tool of a server by where it comes from. */
const SOURCE = /^((?:mcp|openapi):[^:]+):/

function unknownPermission(
  permission: string, action: RuleAction, known: KnownNames,
): Omit<Finding, 'path'> | undefined {
  if (known.tools.has(permission) || isCapability(permission)) return undefined
  const family = capabilitiesMeant(permission)
  if (family !== undefined) {
    const meanwhile = action === 'allow'
      ? 'This rule allows nothing' : `Until it is corrected, the rule applies to ${family.join(' and ')}`
    return {
      message: `No capability is called "${visibleText(permission)}". ${meanwhile}.`, cure: nameOne(permission, family),
    }
  }
  return unknownEntry(permission, known, RULE_CAPABILITIES)
}

const unknownListed = (entry: AllowlistEntry, known: KnownNames): Omit<Finding, 'path'> | undefined =>
  isEveryTool(entry) ? EVERY_TOOL : unknownEntry(entry.tool, known)

const EVERY_TOOL: Omit<Finding, 'path'> = {
  message: 'An entry of the allowlist does not cover every tool, so this one covers none.',
  cure: 'Name the tools, or set the mode to yolo.',
}

/** A name, a pattern, or where a tool comes from. */
function unknownEntry(
  entry: string, known: KnownNames, others: readonly string[] = [],
): Omit<Finding, 'path'> | undefined {
  const server = SOURCE.exec(entry)?.[1]
  if (server !== undefined) return unknownSource(entry, server, known)
  if (!entry.includes('*')) return unknownTool(entry, known, others)
  const isMatched = [...known.tools, ...known.sources].some((name) => matchSegment(entry, name))
  return isMatched || entry === '*' || mayComeFromServer(entry, known)
    ? undefined : nothingCalled('tool', entry, known.tools)
}

function unknownTool(
  name: string, known: KnownNames, others: readonly string[] = [],
): Omit<Finding, 'path'> | undefined {
  if (known.tools.has(name)) return undefined
  const meant = meantTool(name, known)
  if (meant !== name) {
    const message = `No tool is called "${visibleText(name)}" here. This entry does not apply to "${meant}".`
    return { message, cure: `Name "${meant}".` }
  }
  return mayComeFromServer(name, known) ? undefined : nothingCalled('tool', name, [...known.tools, ...others])
}

const meantTool = (name: string, { offered }: KnownNames): string =>
  canonicalToolName(name, (known) => offered.has(known))

/** The tools of a server are not known before the first connection. */
const mayComeFromServer = (name: string, { servers, sources }: KnownNames): boolean => [...servers].some((server) =>
  spellings(server.replace(/^[^:]*:/, '')).some((stem) => name.startsWith(`${stem}_`))
    && ![...sources].some((source) => source.startsWith(`${server}:`)))

function unknownSource(
  source: string, server: string, { servers, sources }: KnownNames,
): Omit<Finding, 'path'> | undefined {
  if (!servers.has(server) && ![...servers].some((name) => matchSegment(server, name))) {
    return nothingCalled('server', server, servers)
  }
  const offered = [...sources].filter((each) => each.startsWith(`${server}:`))
  return offered.length === 0 || offered.some((each) => matchSegment(source, each))
    ? undefined : nothingCalled('tool', source, offered)
}

const isOfHosts = (permission: string): boolean =>
  permission === NETWORK || capabilitiesMeant(permission)?.includes(NETWORK) === true
const NETWORK: RuleCapability = 'net.fetch'

/** Only a leading `*.` stands for several names. `api.*` cannot be compared with what a tool requires. */
function unknownHosts(pattern: string): Omit<Finding, 'path'> | undefined {
  if (pattern === '**' || hostPattern.safeParse(pattern).success) return undefined
  const host = URL.canParse(pattern) ? new URL(pattern).host : pattern.toLowerCase()
  const meant = host !== pattern && hostPattern.safeParse(host).success ? `Did you mean "${host}"? ` : ''
  return {
    message: `"${visibleText(pattern)}" is not a pattern of hosts, so this rule may not apply where it should.`,
    cure: `${meant}Write api.example.com, *.example.com for every subdomain, localhost:8080 for a port, or *.`,
  }
}

/** `tool` or `tool_role`: nothing marks the start of the role, so every prefix is tried. */
function unknownRole(flag: string, known: KnownNames): Omit<Finding, 'path'> | undefined {
  const unknown = unknownTool(flag, known)
  if (unknown === undefined || meantTool(flag, known) !== flag) return unknown
  const beginnings = flag.split('_').map((_part, index, parts) => parts.slice(0, index + 1).join('_')).toReversed()
  const tool = beginnings.find((name) => known.tools.has(name))
  if (tool !== undefined) return unknownRoleOf(tool, flag.slice(tool.length + 1), known.roles)
  const slip = beginnings.find((name) => closeNames(name, known.tools).length > 0)
  return slip === undefined ? unknown : { ...unknown, cure: nameOne(slip, known.tools) }
}

function unknownRoleOf(tool: string, role: string, roles: ReadonlySet<string>): Omit<Finding, 'path'> | undefined {
  if (roles.has(role)) return undefined
  const [nearest] = closeNames(role, roles)
  return {
    message: `No session has the role "${visibleText(role)}", so this flag applies to none now. `
      + 'It stays in force for sessions that are opened with it later.',
    cure: nearest === undefined
      ? `Open sessions with this role, or name one of: ${[...roles].join(', ')}.`
      : `Did you mean "allow_${tool}_${nearest}"?`,
  }
}

/** An id, a prefix that ends with *, or an npm scope, which descriptors do not have. */
function unknownExtension(key: string, { extensions, servers }: KnownNames): Omit<Finding, 'path'> | undefined {
  if (key.startsWith('@') || [...extensions].some((id) => matchSegment(key, id))) return undefined
  const isServer = [...servers]
    .some((server) => matchSegment(key, server.replace(':', '-').toLowerCase().replaceAll('_', '-')))
  return isServer ? undefined : nothingCalled('extension', key, extensions)
}

function unknownOffer(entry: string, known: KnownNames): Omit<Finding, 'path'> | undefined {
  const { offered, servers } = known
  if (toolsSelectedBy(entry, offered).length > 0) return undefined
  const server = SERVER.exec(entry)?.[1]
  if (server !== undefined && !servers.has(server)) return nothingCalled('server', server, servers)
  const [nearest] = closeNames(entry.replaceAll('*', ''), offered)
  return {
    message: `No tool is called "${visibleText(entry)}" here, so the session is offered none for it.`,
    cure: nearest === undefined ? 'Name it as `host.tools()` does.' : `Did you mean "${nearest}"?`,
  }
}

function nothingCalled(
  kind: 'tool' | 'extension' | 'server', name: string, names: Iterable<string>,
): Omit<Finding, 'path'> {
  const message = `No ${kind} is called "${visibleText(name)}" here, so this applies to nothing now. `
    + 'It stays in force for one that is installed later.'
  return { message, cure: nameOne(name, names) }
}

function nameOne(name: string, names: Iterable<string>): string {
  const [nearest] = closeNames(name.replace(/\*$/, ''), names)
  return nearest === undefined
    ? 'Name it as `bulkhead tools` lists it, or remove the entry.' : `Did you mean "${nearest}"?`
}
