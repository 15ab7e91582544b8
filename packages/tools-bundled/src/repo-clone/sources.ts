import { type Net, type ShellStage, ToolError } from '@bulkhead/contract'
import { errorCode } from '@bulkhead/kit/error-message'
import { openRepository } from '../model/git-repository.ts'
import type { CloneRuntime, LocalClone } from './local-clone.ts'
import { isRefName, SmartHttp } from './smart-http.ts'

/** What to clone of a repository. */
export interface Selection {
  /** The full hash of a commit. Default: the default branch. */
  readonly commit?: string
  readonly depth?: number
}

export interface Cloned {
  readonly commit: string
  readonly branch: string | undefined
}

/** Clones over http. Nothing is written before the whole repository is here. */
export async function download({ commit, depth }: Selection, url: URL, clone: LocalClone, net: Net): Promise<Cloned> {
  const remote = new SmartHttp(net, url)
  const offered = await remote.refs()
  const branch = commit === undefined ? offered.branch : undefined
  const wanted = commit ?? offered.head
  if (wanted === undefined) throw noCommits(url)
  const own = new Map(branch === undefined ? [] : [[`refs/heads/${branch}`, wanted]])
  const refs = commit === undefined && depth === undefined ? offered.refs : own
  const { pack, shallow } = await remote.pack([wanted, ...refs.values()], depth)
  await clone.create(branch)
  await clone.addPack(pack, shallow)
  await clone.finish({ commit: wanted, branch, refs }, url.href)
  return { commit: wanted, branch }
}

interface FileSource {
  readonly url: URL
  /** Absolute. */
  readonly source: string
}

/** Clones a repository of the workspace. */
export async function copyFile(
  { commit, depth }: Selection, { url, source }: FileSource, clone: LocalClone, runtime: CloneRuntime,
  as: NonNullable<ShellStage['as']>,
): Promise<Cloned> {
  const isBare = await runtime.fs.stat(`${source}/.git`).then(() => false, (error: unknown) => {
    if (errorCode(error) === 'NotFound') return true
    throw error
  })
  await openRepository(runtime, source, as, { bare: isBare })
  const head = await headOf(runtime, isBare ? source : `${source}/.git`)
  const branch = commit === undefined ? head.branch : undefined
  await clone.create(branch)
  const one = branch === undefined ? commit ?? head.commit ?? 'HEAD' : copied(`refs/heads/${branch}`)
  const whole = [copied('refs/heads/*'), '+refs/tags/*:refs/tags/*', ...(branch === undefined ? [one] : [])]
  await clone.fetchFile(source, commit === undefined && depth === undefined ? whole : [one], depth)
  const found = commit ?? (branch === undefined ? head.commit : await clone.resolve(`refs/remotes/origin/${branch}`))
  if (found === undefined) throw noCommits(url)
  await clone.finish({ commit: found, branch, refs: new Map() }, url.href)
  return { commit: found, branch }
}

const copied = (name: string): string => `+${name}:${name.replace('refs/heads/', 'refs/remotes/origin/')}`

async function headOf({ fs }: CloneRuntime, folder: string): Promise<Partial<Cloned>> {
  const text = (await fs.readText(`${folder}/HEAD`)).trim()
  const name = /^ref: (.+)$/.exec(text)?.[1]
  if (name === undefined) return { commit: text }
  return isRefName(name) && name.startsWith('refs/heads/') ? { branch: name.slice('refs/heads/'.length) } : {}
}

const noCommits = (url: URL): ToolError =>
  new ToolError('NotFound', `The repository ${url.href} has no commits, so there is nothing to clone. Check the URL.`)
