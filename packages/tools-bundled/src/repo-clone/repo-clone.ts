import {
  type ArgumentsReader, type CallNeed, defineTool, type FromJsonSchema, type Net, ToolError,
} from '@bulkhead/contract'
import { errorCode } from '@bulkhead/kit/error-message'
import type { JsonObject } from '@bulkhead/kit/json'
import type { FetchOptions } from '../model/http.ts'
import { absolute, insidePath, pathKey, refuseHome, stringOr, writeDenials } from '../model/paths.ts'
import { CLONE_WALL, type CloneRuntime, LocalClone } from './local-clone.ts'
import { copyFile, download } from './sources.ts'

const INPUT_SCHEMA = {
  type: 'object',
  properties: {
    url: {
      type: 'string', minLength: 1, maxLength: 4096,
      description: 'The https URL of the repository, or a file URL of a repository in the workspace.',
    },
    path: {
      type: 'string', minLength: 1, maxLength: 1024,
      description: 'The folder to create, relative to the workspace. It must not exist.',
    },
    depth: {
      type: 'integer', minimum: 1, maximum: 1_000_000,
      description: 'How many commits of the history. Default: all, if they are not larger than 32 MB.',
    },
    commit: {
      type: 'string', pattern: '^[0-9a-f]{40}$',
      description: 'The full hash of the commit to check out. Default: the default branch.',
    },
  },
  required: ['url', 'path'],
  additionalProperties: false,
} as const

const REST = { rest: true as const }

type CloneArgs = FromJsonSchema<typeof INPUT_SCHEMA>

export const createTool = ({ fetchHosts = ['*'] }: FetchOptions) => defineTool({
  label: 'Clone a repository',
  description: 'Clones a git repository into a new folder of the workspace, from https or from a file URL in the '
    + 'workspace. A commit can be pinned by its full hash. Submodules are not cloned, symbolic links become '
    + 'files, and hooks, filters and stored credentials are not used.',
  input: INPUT_SCHEMA,
  requires: {
    fs: { read: ['{workspace}'], write: ['{workspace}'] },
    net: { hosts: [...fetchHosts] },
    shell: [
      { cmd: 'git', args: [REST] }, { cmd: 'cat', args: ['--', REST] }, { cmd: 'tee', args: ['.git/shallow'] },
      { cmd: 'rm', args: ['-rf', '--', { wildcard: true as const }] },
    ],
  },
  gated: true,
  mode: 'external',
  kind: 'fetch',
  timeoutMs: 300_000,
  execute: cloneRepository,
  deriveApprovalKey: ({ url }) => hostKey(url),
})

const hostKey = (url: string): string => {
  const { protocol, hostname = '' } = URL.parse(url) ?? {}
  return protocol === 'file:' ? 'file' : hostname || 'not a URL'
}

/** The approval key is the host, or `file`. */
export const readArguments: ArgumentsReader = ({ url, path }, context) => {
  const { workspace, roots = [] } = context
  const given = URL.parse(stringOr(url))
  const key = hostKey(stringOr(url))
  const written = stringOr(path)
  const inside = insidePath(written, { workspace, folder: '.', roots })
  const place = inside === undefined ? written : absolute(workspace, inside)
  const port = given?.port || (given?.protocol === 'http:' ? '80' : '443')
  const isFile = key === 'file'
  const source = isFile ? filePath(given!) : undefined
  const needs: readonly CallNeed[] = [
    { kind: 'fs.write', subject: place, below: true },
    ...(source === undefined ? [] : [{ kind: 'fs.read', subject: source, below: true } as const]),
    ...(isFile || given === null ? [] : [{ kind: 'net', subject: `${given.hostname}:${port}` } as const]),
  ]
  return {
    key, subjects: [{ key }], asks: [], needs, startsBehind: CLONE_WALL,
    touches: [
      source === undefined ? `reach ${given?.host ?? 'nothing: it is not a URL'}` : `read ${source}`, `write ${place}`,
    ],
    denies: inside === undefined ? [`the folder ${pathKey(written)} is outside the workspace`]
      : writeDenials(place, written, context),
    // After a link, `..` leads to an unknown folder.
    ...(isFile && inside !== undefined && !written.split('/').includes('..') && {
      effects: { reads: [{ path: source!, below: true }], writes: [{ path: place, below: true }], net: false },
    }),
  }
}

/** The path of a file URL, decoded. */
function filePath({ pathname }: URL): string {
  try {
    return decodeURIComponent(pathname)
  } catch {
    return pathname
  }
}

async function cloneRepository(args: CloneArgs, runtime: CloneRuntime & { readonly net: Net }): Promise<JsonObject> {
  const url = readUrl(args.url)
  const path = await newFolder(args.path, runtime)
  const as = { cmd: 'git', args: ['clone', url.href, args.path] }
  const clone = new LocalClone(runtime, path, as)
  try {
    const { commit, branch } = url.protocol === 'file:'
      ? await copyFile(args, { url, source: filePath(url) }, clone, runtime, as)
      : await download(args, url, clone, runtime.net)
    return { path, commit, branch: branch ?? null, ...(args.depth !== undefined && { depth: args.depth }) }
  } catch (error) {
    await clone.remove()
    throw error
  }
}

/** Unencrypted http only reaches this machine. */
function readUrl(text: string): URL {
  const url = URL.parse(text)
  const isLocal = url !== null && /^(?:localhost|127\.0\.0\.1|\[::1\])$/.test(url.hostname)
  const isFile = url?.protocol === 'file:' && url.hostname === ''
  if (url === null || !(url.protocol === 'https:' || isFile || (url.protocol === 'http:' && isLocal))) {
    throw new ToolError(
      'InputInvalid',
      `"${text}" is not an https or file URL. Pass one, such as https://HOST/NAME or file:///FOLDER.`,
    )
  }
  if (url.username !== '' || url.password !== '') {
    throw new ToolError('InputInvalid', 'The URL contains a user name or password. Remove it.')
  }
  if (url.search !== '' || url.hash !== '') throw new ToolError('InputInvalid', 'The URL has a query. Remove it.')
  return url
}

/** The folder to create, relative to the workspace where possible. Rejects with InputInvalid if it exists. */
async function newFolder(given: string, { fs }: CloneRuntime): Promise<string> {
  refuseHome(given)
  let end = given.length
  while (given[end - 1] === '/') end--
  const path = given.slice(0, end)
  const slash = path.lastIndexOf('/')
  const [parent, name] = slash < 0 ? ['.', path] : [path.slice(0, slash) || '/', path.slice(slash + 1)]
  if (/^\.{0,2}$/.test(name)) throw new ToolError('InputInvalid', `"${given}" names no new folder.`)
  // The list also has links that lead nowhere.
  const entries = await fs.list(parent).catch((error: unknown) => {
    if (errorCode(error) === 'NotFound') return []
    throw error
  })
  if (entries.some((entry) => entry.name === name)) {
    throw new ToolError('InputInvalid', `"${given}" exists already. Pass a folder that does not exist.`)
  }
  return path
}
