import type { ApprovalAnswer, OfferedAnswer } from '@bulkhead/contract'
import type { ToolEntry } from '../../extensions/registry/tool-entry.ts'
import type { CallAnalysis, Subject } from '../model/checked-call.ts'
import { MODE_QUESTION } from '../model/verdict.ts'
import { isOfSameCall } from './approval.ts'
import type { CoveredKey } from './session-approvals.ts'

/** An answer that a person can give, and what it stores. */
export interface Offer {
  readonly decision: OfferedAnswer['decision']
  readonly covers: OfferedAnswer['covers']
  readonly keys: readonly CoveredKey[]
  /** Keys that it may have instead, the least first. */
  readonly narrower?: readonly CoveredKey[]
  /** The key of the folder whose files the words count. */
  readonly counted?: string
  /** What it covers. `files`: how many are in the folder. */
  words(files?: string): string
}

/** Counts the files below an absolute path, links not followed, and stops at one more than `most`. */
export type CountFiles = (folder: string, most: number, isCounted: (path: string) => boolean) => Promise<number>

/** What an answer may cover besides this call. */
type Reach = Omit<Offer, 'decision'>

export const THIS_CALL: Offer = { decision: 'once', covers: 'call', keys: [], words: () => 'this call' }

/** The answers to a call, the one that covers the least first. `isTask`: the session is that of a sub-agent. */
export function offersOf(
  tool: Pick<ToolEntry, 'name' | 'approvalKey'>, analysis: CallAnalysis, forProject: boolean, isTask = false,
): readonly Offer[] {
  const { questions = [MODE_QUESTION] } = analysis
  const all = questions.length === 0 ? [] : reachesOf(tool, analysis)
  const reaches = questions.every(isOfSameCall) ? all.slice(0, 1).map(theSameCall) : all
  const lasting = (decision: 'session' | 'project', where: string): readonly Offer[] =>
    reaches.map((reach) => ({ ...reach, decision, words: (files) => `${reach.words(files)} ${where}` }))
  return [
    THIS_CALL,
    ...lasting('session', isTask ? 'for this task' : 'in this session'),
    // The code of the tool could return the same key for every call.
    ...forProject && !analysis.keyByTool ? lasting('project', 'in every session of this project') : [],
  ]
}

const theSameCall = (reach: Reach): Reach => ({ ...reach, words: () => 'the same call' })

/**
 * The offer that an answer chooses. In place of one that was not made: the least for the session, then this call. What
 * is over at once covers this call.
 */
export function chosenOffer(
  offers: readonly Offer[], { decision, covers = 'key', key, until, uses }: ApprovalAnswer, now: number,
): Offer {
  if (uses === 1 || (until !== undefined && Date.parse(until) <= now)) return THIS_CALL
  const lasting = offers.filter((offer) => offer.decision === decision)
  const least = lasting[0] ?? offers.find((offer) => offer.decision === 'session') ?? offers[0]!
  const chosen = lasting.find((offer) => offer.covers === covers) ?? least
  if (key === undefined || chosen.keys.some((own) => own.key === key)) return chosen
  const narrower = chosen.narrower?.find((own) => own.key === key)
  return narrower ? { ...chosen, keys: [narrower], words: () => narrower.covers } : least
}

function reachesOf(tool: Pick<ToolEntry, 'name' | 'approvalKey'>, analysis: CallAnalysis): readonly Reach[] {
  const { subjects, approvalKey, command } = analysis
  const kinds = new Set(subjects.map(({ place }) => place?.kind))
  if (kinds.size === 1 && kinds.has('file')) return [theseFiles(subjects), ...wider(subjects)]
  const [only] = subjects
  if (kinds.size === 1 && kinds.has('folder') && subjects.length === 1) {
    return isWhole(approvalKey) ? [theWorkspace(approvalKey)]
      : [thisFolder(approvalKey, 'key'), ...wider([only!]).filter(({ covers }) => covers === 'workspace')]
  }
  const isOfEveryCall = approvalKey === tool.name && tool.approvalKey === undefined
  const words = command ? commandWords(analysis)
    : isOfEveryCall ? `every call of ${tool.name}` : `every call with the key "${approvalKey}"`
  return [{ covers: 'key', keys: [{ key: approvalKey, covers: words }], words: () => words }]
}

/** The key of a command marks what it needs beyond the words of the command. A person reads it in words. */
function commandWords({ approvalKey, wall }: CallAnalysis): string {
  const { hosts, keys = [] } = wall ?? {}
  const names = hosts === 'all' ? ['*'] : hosts
  const marks = names ? [` [net ${names.join(' ')}]`, ...keys.map((name) => ` [key ${name}]`)].join('') : ''
  const [start, end] = [wall?.wall === 'open' ? '[open] ' : '', marks]
  // A key that was cut has other marks, or none.
  if (!approvalKey.startsWith(start) || !approvalKey.endsWith(end)) return `this command (${approvalKey})`
  const command = approvalKey.slice(start.length, approvalKey.length - end.length).replace(/^\[effects\] /, '')
  const more = [
    ...start === '' ? [] : ['without a wall'],
    ...names ? [hosts === 'all' ? 'with the whole network' : `which may reach ${names.join(', ')}`] : [],
    ...keys.map((name) => `with the key ${name}`),
  ]
  return [`this command (${command})`, ...more].join(' ')
}

/** More files are counted. */
const NAMED_FILES = 3

function theseFiles(subjects: readonly Subject[]): Reach {
  const keys = [...new Set(subjects.map(({ key }) => key))].map((key) => ({ key, covers: `this file (${key})` }))
  const names = keys.slice(0, NAMED_FILES).map(({ key }) => key).join(', ')
  const more = keys.length > NAMED_FILES ? ` and ${keys.length - NAMED_FILES} more` : ''
  const words = keys.length === 1 ? keys[0]!.covers : `these ${keys.length} files (${names}${more})`
  return { covers: 'key', keys, words: () => words }
}

/** The nearest folder that contains all of them, and the workspace. None if one of them needs an answer of its own. */
function wider(subjects: readonly Subject[]): readonly Reach[] {
  const [first, ...others] = subjects
  if (subjects.some(({ isHeldBack }) => isHeldBack?.())) return []
  const shared = (first?.within ?? []).filter((key) => others.every(({ within = [] }) => within.includes(key)))
  const folder = shared.find((key) => !isWhole(key) && key !== '/')
  const workspace = shared.find(isWhole)
  const below = shared.filter((key) => !isWhole(key) && key !== '/').map((key) => thisFolder(key, 'folder').keys[0]!)
  return [
    ...(folder === undefined ? [] : [thisFolder(folder, 'folder')]),
    ...(workspace === undefined ? [] : [{ ...theWorkspace(workspace), narrower: below }]),
  ]
}

/** A folder above files ends in a slash; one that a tool searches is written as it is. */
const isWhole = (key: string): boolean => key === '.' || key === './'

function thisFolder(key: string, covers: 'key' | 'folder'): Reach {
  const name = key.replace(/(?<=.)\/$/, '')
  const words = (files?: string): string => `this folder (${files === undefined ? name : `${name}, ${files}`})`
  return { covers, keys: [{ key, covers: words() }], counted: key, words }
}

/** The words always say it: the key alone does not. */
function theWorkspace(key: string): Reach {
  const words = (files?: string): string => `the whole workspace${files === undefined ? '' : ` (${files})`}`
  return { covers: 'workspace', keys: [{ key, covers: words() }], counted: key, words }
}
