import type { ConfigFile } from '../validation/config.ts'
import type { Diagnostic } from '../model/diagnostic.ts'
import type { Manifest, ManifestInput } from '../validation/manifest.ts'
import type { Layer } from '../model/names.ts'
import type { IntegrityStatus } from './tools.ts'
import type { ExtensionModule } from '../author/extension.ts'
import type { ProjectStanding, TrustLedger } from './project-trust.ts'

/** A proven extension: data only, nothing of it has run. */
export interface ExtensionDescriptor {
  readonly id: string
  readonly version: string
  readonly layer: Layer
  /** The folder, for people. */
  readonly location: string
  readonly manifest: Manifest
  readonly digests: ExtensionDigests
  readonly integrity: IntegrityStatus
  /** Set when the status is signed. */
  readonly signer?: ExtensionSigner
  readonly code: ExtensionCode
  /** Set when another program offers the tools. */
  readonly server?: ConnectedServer
}

/** A program elsewhere whose tools are offered here: a server that lists them, or one that a document describes. */
export interface ConnectedServer {
  readonly kind: 'mcp' | 'openapi'
  /** As the configuration calls it. */
  readonly name: string
  /** The command line or the URL, for people. */
  readonly address: string
  /** What the server or the document calls each tool, by the name it has here. */
  readonly tools: ReadonlyMap<string, string>
  /** Set for a process of the user's account: its tools can do more than their requirements say. */
  readonly unconfined?: true
  /** What a call of each tool really does, for people, where that is known: names and words are the stranger's own. */
  readonly deeds?: ReadonlyMap<string, string>
}

/**
 * An extension that stands in no folder: a server offers its tools, and a module of ours carries the calls there. Its manifest
 * passes the stages of a stranger's.
 */
export interface ConnectedExtension {
  readonly layer: Layer
  readonly location: string
  readonly manifest: ManifestInput
  readonly server: ConnectedServer
  /** Lower-case hex sha512 of who the server is: what approvals are bound to in place of files. */
  readonly identity: string
  /** Of everything the server says of each tool, also of what nobody is told, by the name the tool has here. */
  readonly definitions: ReadonlyMap<string, string>
  /** What carries the calls of these tools. */
  module(tools: readonly string[]): ExtensionModule
}

/** Who signed a package: what the verified certificate says, in the words of who issued the identity. */
export interface ExtensionSigner {
  /** Who vouches for the rest, such as https://token.actions.githubusercontent.com. */
  readonly issuer: string
  /** A workflow at a ref, or the address of a person. */
  readonly subject: string
  /** The rest is known of builds only. The address of the repository that was built. */
  readonly repository: string | null
  /** The subject without its ref. */
  readonly workflow: string | null
  /** The branch or tag that was built. */
  readonly ref: string | null
}

/** Lower-case hex sha512. What approvals are bound to. */
export interface ExtensionDigests {
  /** Over every file of the package. */
  readonly package: string
  /** Over requirements and declared variables of the whole extension. */
  readonly capability: string
  /** Per tool, over everything a model or a policy is told of it. */
  readonly tools: ReadonlyMap<string, string>
}

export type ExtensionCode =
  /** Contract: returns exactly the bytes that `digests.package` was taken over, or rejects with IntegrityFailed. */
  | { readonly kind: 'files'; readFiles(): Promise<ReadonlyMap<string, Uint8Array>> }
  | { readonly kind: 'module'; readonly module: ExtensionModule }

/** The configuration of one layer, with where it stands. */
export interface LayerConfig {
  readonly layer: Layer | 'embedder'
  readonly location: string
  readonly config: ConfigFile
  /** Entries of its lists that could not be read and were left out, as JSON Pointers: those after them have moved up. */
  readonly omitted?: readonly string[]
}

/** All layers merged, later over earlier, and each by itself for whoever must know the source of a value. */
export interface ResolvedConfig {
  readonly merged: ConfigFile
  readonly layers: readonly LayerConfig[]
}

export interface LoadRequest extends ProjectStanding {
  /** The canonical path of the workspace. */
  readonly workspace: string
  /** Goes over every file. */
  readonly overrides?: ConfigFile
}

/** The authorities signatures are compared with. One that is old knows no newer ones. */
export interface TrustRootReport {
  readonly source: string
  /** The day it was published, or null where nobody said. */
  readonly date: string | null
  readonly ageDays: number | null
}

export interface LoadReport {
  readonly config: ResolvedConfig
  /** Ordered by layer, then id. Several may have one id; a later layer shadows. */
  readonly extensions: readonly ExtensionDescriptor[]
  readonly diagnostics: readonly Diagnostic[]
  /** Extensions that are there and not loaded, switched off or refused, by id; with the names of their tools, as far as they are known. */
  readonly absent?: ReadonlyMap<string, readonly string[]>
  /**
   * Of the documents that the project names under `openapi`, the lower-case hex sha512 that its trust was judged by; null for one
   * that could not be read.
   */
  readonly projectDocuments?: ReadonlyMap<string, string | null>
  /** How the project layer was decided about, where the workspace has one. declined: it was not used, for whatever reason. */
  readonly projectTrust?: ProjectStanding & { readonly path: string }
  readonly trustRoot?: TrustRootReport
}

export interface Loader {
  /** Contract: never throws for what it finds, only for a workspace that cannot be opened; runs nothing it finds. */
  load(request: LoadRequest): Promise<LoadReport>
  /**
   * A report of `load` with these beside what was found. They take no name from anybody: a tool that is not of the form, or whose
   * name is another's, is left out with a diagnostic, and the rest is offered. Contract: never rejects, runs nothing.
   */
  connect(report: LoadReport, connected: readonly ConnectedExtension[]): Promise<LoadReport>
  /** Whether the workspace has a layer of its own that must be trusted first. Opens nothing below its folder. */
  hasProjectLayer(workspace: string): Promise<boolean>
  /** Who is trusted. */
  readonly trust: TrustLedger
  /**
   * Calls back once after each storm of changes to what a load would read, with the layers that changed; until the returned
   * disposer is called. Watch first and load then, so that nothing is missed between. Throws ProjectPathInvalid.
   */
  watch(request: WatchRequest, onChange: (layers: readonly Layer[]) => void): () => void
}

/**
 * As for a load. Of a layer that is declined, and of one that was not there, only the coming and going of its folder is noticed:
 * nothing in it is opened.
 */
export type WatchRequest = Omit<LoadRequest, 'overrides'>

