import { dirname } from 'node:path'
import {
  comparePatterns, isCapability, kindOfTouch, SUBJECT_KINDS, type Rule, type ScopedRule, type SubjectKind,
} from '@bulkhead/contract'
import { matchSegment } from '@bulkhead/kit/glob'
import type { Session } from '@bulkhead/host'
import type { LearnedCall, LearnedUse } from './learning.ts'
import { widerRule, widerWords } from './wider-rule.ts'

/** A rule that learned calls need. */
export interface ProposedRule {
  readonly rule: Rule
  /** What it adds to today's policy, as the end of a sentence. */
  readonly allows: string
  /** How many of the calls need it. */
  readonly calls: number
  /** Set if no model asked for it: only tools of others did. */
  readonly onlyThirdParty: boolean
}

export interface Proposal {
  readonly rules: readonly ProposedRule[]
  /** Calls that ran, and that no rule of this proposal allows, with the reason. */
  readonly left: readonly { readonly call: LearnedCall; readonly reason: string }[]
}

/** From so many files of a folder, or forms of a command, the proposal names the folder or the command. */
const ENOUGH = 3

/**
 * The smallest rules under which the calls that ran would run unasked. `session`: under today's policy. `strict`: its
 * rules that deny or ask. No rule of the proposal sets aside one that denies.
 */
export async function proposeRules(
  session: Pick<Session, 'explain'>, calls: readonly LearnedCall[], strict: readonly ScopedRule[],
): Promise<Proposal> {
  const denies = strict.filter(({ action }) => action === 'deny')
  const found = new Map<string, Found & { readonly calls: LearnedCall[] }>()
  const left: Proposal['left'][number][] = []
  for (const [index, call] of calls.entries()) {
    if (call.decision !== 'allow') continue
    const { decision, change, chain } = await session.explain({ id: `l${index}`, name: call.tool, arguments: call.arguments })
    if (decision === 'allow') continue
    const rules = change?.remove.length === 0 ? change.add.filter((rule) => !setsAside(rule, denies)) : []
    if (change === undefined || rules.length < change.add.length || rules.length === 0) {
      left.push({ call, reason: chain.find(({ action }) => action === decision)?.reason ?? 'no rule can allow it' })
      continue
    }
    for (const [at, rule] of rules.entries()) {
      found.getOrInsertComputed(keyOf(rule), () => ({ rule, allows: change.allows[at]!, calls: [] })).calls.push(call)
    }
  }
  return { rules: widened([...found.values()], strict), left }
}

const keyOf = ({ permission, pattern }: Rule): string => `${permission} ${pattern}`

/** Whether a rule lies inside a stricter one, which it would loosen. */
const setsAside = (rule: Rule, strict: readonly ScopedRule[]): boolean => strict.some((deny) => {
  const isOfPath = rule.pattern.startsWith('/')
  const { permission } = deny
  if (!isCapability(permission)) {
    return matchSegment(permission, rule.permission) && SUBJECT_KINDS.some((kind) => isInside(rule, deny, kind))
  }
  return permission.startsWith('fs.') === isOfPath && isInside(rule, deny, kindOfTouch({ capability: permission, subject: '' }))
})

const isInside = (rule: Rule, deny: ScopedRule, kind: SubjectKind): boolean => comparePatterns(rule, deny, kind) !== undefined

type Found = { readonly rule: Rule; readonly allows: string; readonly calls: readonly LearnedCall[] }

/** Several files of one folder become the folder, and several forms of one command its beginning. */
function widened(found: readonly Found[], strict: readonly ScopedRule[]): readonly ProposedRule[] {
  const groups = Map.groupBy(found, ({ rule }) => keyOf(widerRule(rule) ?? rule))
  return [...groups].flatMap(([, members]) => {
    const rule = widerRule(members[0]!.rule)
    // An exception to a stricter rule stays exact: a wider one could free more, or be no exception any more.
    const isException = [...members, { rule: rule ?? members[0]!.rule }].some((one) => setsAside(one.rule, strict))
    if (members.length < ENOUGH || rule === undefined || isException) return members.map(proposed)
    return [proposed({ rule, allows: widerWords(rule), calls: members.flatMap(({ calls }) => calls) })]
  })
}

const proposed = ({ rule, allows, calls }: Found): ProposedRule =>
  ({ rule, allows, calls: calls.length, onlyThirdParty: calls.every(({ byTool }) => byTool) })

/** What tools of others used, as `requires` of a manifest, and each host with its methods and the start of its paths. */
export interface LearnedNeeds {
  readonly tool: string
  readonly requires: { readonly fs?: object; readonly net?: object; readonly shell?: readonly object[] }
  readonly requests: readonly string[]
}

export function learnedNeeds(
  calls: readonly LearnedCall[], uses: readonly LearnedUse[], workspace: string,
): readonly LearnedNeeds[] {
  const others = new Set(calls.filter(({ layer }) => layer !== 'bundled').map(({ tool }) => tool))
  return [...others].toSorted().map((tool) => {
    const of = (part: LearnedUse['part']): readonly string[] =>
      [...new Set(uses.filter((use) => use.tool === tool && use.part === part).map(({ subject }) => subject))]
    const [read, write] = [foldersOf(of('fs.read'), workspace), foldersOf(of('fs.write'), workspace)]
    const requests = requestsIn(of('net'))
    const hosts = [...new Set(requests.map((line) => line.split(' ')[1]!.split('/')[0]!))]
    const shell = [...Map.groupBy(of('shell').map((line) => line.split(' ')), ([cmd]) => cmd!)].map(([cmd, lines]) =>
      ({ cmd, args: lines.length === 1 ? lines[0]!.slice(1) : [{ rest: true }] }))
    return {
      tool, requests,
      requires: {
        ...(read.length + write.length > 0 && { fs: { ...(read.length > 0 && { read }), ...(write.length > 0 && { write }) } }),
        ...(hosts.length > 0 && { net: { hosts } }), ...(shell.length > 0 && { shell }),
      },
    }
  })
}

/** Files as they are, and folders from several files on. */
function foldersOf(paths: readonly string[], workspace: string): readonly string[] {
  const named = paths.map((path) => path === workspace ? '{workspace}' : path.replace(`${workspace}/`, '{workspace}/'))
  return [...Map.groupBy(named, dirname)].flatMap(([folder, members]) =>
    members.length >= ENOUGH && folder !== '/' ? [`${folder}/**`] : members)
}

/** One line per method and host, with what their paths have in common. */
function requestsIn(lines: readonly string[]): readonly string[] {
  const requests = lines.flatMap((line) => {
    const [method = '', address = ''] = line.split(' ')
    const url = URL.parse(address)
    return url === null ? [] : [{ start: `${method} ${url.host}`, path: url.pathname }]
  })
  return [...Map.groupBy(requests, ({ start }) => start)].map(([start, members]) => {
    const paths = members.map(({ path }) => path.split('/'))
    const [first = []] = paths
    const end = first.findIndex((part, at) => paths.some((path) => path[at] !== part))
    return end < 0 && paths.every(({ length }) => length === first.length)
      ? `${start}${first.join('/')}` : `${start}${first.slice(0, end < 0 ? undefined : end).join('/')}/**`
  })
}
