import type { ExtensionModule } from '../author/extension.ts'
import type { Diagnostic } from '../model/errors.ts'
import type { Layer } from '../model/names.ts'
import type { AgentManifest } from '../validation/agent.ts'
import type { ConfigFile } from '../validation/config.ts'
import type { Manifest, ManifestInput } from '../validation/manifest.ts'
import type { CodeOrigins } from './code-origins.ts'

/**
 * bundled: ships with the host. unpinned: hashed, but neither accepted nor signed. pinned: a server or document of exact
 * versions, whose digests were checked when it was installed or fetched.
 */
export type IntegrityStatus = 'bundled' | 'unpinned' | 'pinned' | 'verified' | 'signed'

/** A verified extension: data only, none of its code has run. */
export interface ExtensionDescriptor {
  readonly id: string
  readonly version: string
  readonly layer: Layer
  /** The folder, for people. */
  readonly location: string
  readonly manifest: Manifest
  readonly digests: ExtensionDigests
  readonly integrity: IntegrityStatus
  /** Set if the status is signed. */
  readonly signer?: ExtensionSigner
  readonly code: ExtensionCode
  /** Set if an external server offers the tools. */
  readonly server?: ConnectedServer
}

/** An external server whose tools the host offers: an MCP server, or an API that an OpenAPI document describes. */
export interface ConnectedServer {
  readonly kind: 'mcp' | 'openapi'
  /** Its name in the configuration. */
  readonly name: string
  /** The command line or the URL, for people. */
  readonly address: string
  /** The name of each tool on the server or in the document, by its name here. */
  readonly tools: ReadonlyMap<string, string>
  /**
   * Set for a process without a jail: it has the user's rights, and its tools can do more than their requirements say.
   * `network`: its jail confines its files, and may leave the network open.
   */
  readonly unconfined?: true | 'network'
  /** What a call of each tool does, for people, if known. Names and descriptions come from the server. */
  readonly actions?: ReadonlyMap<string, string>
  /** @deprecated Use `actions`. */
  readonly deeds?: ReadonlyMap<string, string>
}

/**
 * An extension without a folder: a server offers its tools, and a module of the host forwards the calls. Its manifest
 * passes the same stages as one from a folder.
 */
export interface ConnectedExtension {
  readonly layer: Layer
  readonly location: string
  readonly manifest: ManifestInput
  readonly server: ConnectedServer
  /** Lower-case hex sha512 of the server's identity. Approvals are bound to it instead of files. */
  readonly identity: string
  /** Digest of the complete definition of each tool, by its name here. */
  readonly definitions: ReadonlyMap<string, string>
  /** Set if the server or document cannot change. */
  readonly pinned?: true
  /** The module that forwards the calls of these tools. */
  module(tools: readonly string[]): ExtensionModule
}

/** Who signed a package, from the verified certificate. */
export interface ExtensionSigner {
  /** The issuer of the identity, such as https://token.actions.githubusercontent.com. */
  readonly issuer: string
  /** A workflow at a ref, or the address of a person. */
  readonly subject: string
  /** The URL of the repository that was built. This and the following fields are known for builds only. */
  readonly repository: string | null
  /** The subject without its ref. */
  readonly workflow: string | null
  /** The branch or tag that was built. */
  readonly ref: string | null
}

/** Lower-case hex sha512. Approvals are bound to them. */
export interface ExtensionDigests {
  /** Of all files of the package. */
  readonly package: string
  /** Of the requirements and declared variables of the whole extension. */
  readonly capability: string
  /** Per tool, of everything that a model or a policy sees. */
  readonly tools: ReadonlyMap<string, string>
}

export type ExtensionCode =
  /** Contract: returns exactly the bytes of `digests.package`, or rejects with IntegrityFailed. */
  | {
      readonly kind: 'files'
      readFiles(): Promise<ReadonlyMap<string, Uint8Array>>
      /** The same with the files that prove its origin. Absent: there are none. */
      readPackage?(): Promise<ReadonlyMap<string, Uint8Array>>
      /** Set if this process built the code. */
      readonly origins?: CodeOrigins
    }
  | { readonly kind: 'module'; readonly module: ExtensionModule }

/** An agent that can be named in `openSession`. A later layer hides an earlier one with the same name. */
export interface AgentDescriptor {
  readonly name: string
  /** `embedder`: from the options of `createHost`. */
  readonly layer: Exclude<Layer, 'bundled'> | 'embedder'
  /** The file, for people. */
  readonly location: string
  /** undefined if the agent cannot be used: then `fault` says why, and opening a session for it fails. */
  readonly manifest: AgentManifest | undefined
  readonly fault?: Diagnostic
}

/** Instructions that a model can load by name. */
export interface SkillDescriptor {
  readonly name: string
  readonly description: string
  readonly layer: Exclude<Layer, 'bundled'>
  /** The absolute path of its folder. */
  readonly location: string
  /** Lower-case hex sha512 of each file in it, by its path in the folder. */
  readonly files: ReadonlyMap<string, string>
}

/** The configuration of one layer, with its location. `machine`: the policy that no other layer can loosen. */
export interface LayerConfig {
  readonly layer: Layer | 'embedder' | 'machine'
  readonly location: string
  readonly config: ConfigFile
  /** JSON Pointers of invalid list entries that were left out. Later entries have moved up. */
  readonly omitted?: readonly string[]
  /** The line of each rule in the file, as they were written. Absent for a configuration without a file. */
  readonly ruleLines?: readonly number[]
}

/** All layers merged, later over earlier, and each layer separately to find the source of a value. */
export interface ResolvedConfig {
  readonly merged: ConfigFile
  readonly layers: readonly LayerConfig[]
}

export interface LoadRequest extends ProjectDecision {
  /** The canonical path of the workspace. */
  readonly workspace: string
  /** Overrides every file. */
  readonly overrides?: ConfigFile
}

/** The authorities that signatures are verified with. An old root does not know newer ones. */
export interface TrustRootReport {
  readonly source: string
  /** The day it was published, or null if unknown. */
  readonly date: string | null
  readonly ageDays: number | null
}

export interface LoadReport {
  readonly config: ResolvedConfig
  /** Ordered by layer, then id. Several may have the same id; the later layer shadows. */
  readonly extensions: readonly ExtensionDescriptor[]
  readonly diagnostics: readonly Diagnostic[]
  /** Ordered by layer, then name. Absent for a loader that finds none. */
  readonly agents?: readonly AgentDescriptor[]
  /** Skills that can be used, one of each name, and those of a project only if it is trusted. */
  readonly skills?: readonly SkillDescriptor[]
  /** Extensions that were found but are disabled or refused, by id, with the known names of their tools. */
  readonly absent?: ReadonlyMap<string, readonly string[]>
  /**
   * Lower-case hex sha512 of the project's `openapi` documents, as its trust was decided; null for an unreadable one.
   */
  readonly projectDocuments?: ReadonlyMap<string, string | null>
  /** The decision about the project layer, if the workspace has one. declined: it was not used. */
  readonly projectTrust?: ProjectDecision & { readonly path: string }
  readonly trustRoot?: TrustRootReport
}

export interface Loader {
  /** Contract: rejects only if the workspace cannot be opened; runs no code that it finds. */
  load(request: LoadRequest): Promise<LoadReport>
  /**
   * Adds connected extensions to a report of `load`. A tool that is invalid or whose name is taken is left out with a
   * diagnostic. Contract: never rejects, runs no code.
   */
  connect(report: LoadReport, connected: readonly ConnectedExtension[]): Promise<LoadReport>
  /** Whether the workspace has its own layer, which must be trusted first. Opens nothing in it. */
  hasProjectLayer(workspace: string): Promise<boolean>
  /** The record of trusted projects. */
  readonly trust: TrustLedger
  /**
   * Calls back once after each burst of changes to what a load would read, with the changed layers, until the returned
   * function is called. Start to watch before you load, so that no change is missed. Throws ProjectPathInvalid.
   */
  watch(request: WatchRequest, onChange: (layers: readonly Layer[]) => void): () => void
}

/** As for a load. For a declined or missing layer only its folder is watched; nothing in it is opened. */
export type WatchRequest = Omit<LoadRequest, 'overrides'>

export type ProjectTrust = 'trusted' | 'declined' | 'once'

/** A decision about a project layer and the content that it applies to. */
export interface ProjectDecision {
  readonly trust: ProjectTrust
  /** Lower-case hex sha512 of that content. `any`: any content, now and later, on the embedder's responsibility. */
  readonly projectDigest: string
}

/** @deprecated Use `ProjectDecision`. */
export type ProjectStanding = ProjectDecision

/** Whether content of a project layer may be used. Checked for every load and reload. */
export const mayLoad = (layerDigest: string, { trust, projectDigest }: ProjectDecision): boolean =>
  trust !== 'declined' && (projectDigest === 'any' || projectDigest === layerDigest)

/** trusted and declined last until the next decision. once: for the next start. revoked: removes the decision. */
export const TRUST_DECISIONS = ['trusted', 'declined', 'once', 'revoked'] as const
export type TrustDecision = (typeof TRUST_DECISIONS)[number]

/** One decision about a project. */
export interface TrustRecord {
  /** The canonical path of the workspace. */
  readonly path: string
  readonly decision: TrustDecision
  /** ISO 8601. */
  readonly decidedAt: string
  /**
   * Lower-case hex sha512 of everything in the project that would be used. null for revoked, and in older records for
   * declined, which then applies to any content.
   */
  readonly digest: string | null
}

/** The decision that applies to the current content of a workspace. */
export type TrustStatus =
  /** There is no project layer. The digest is that of an empty layer, so a layer that appears later is not covered. */
  | { readonly kind: 'nothing'; readonly digest: string }
  /** There is no valid decision. Nothing of the layer was read. */
  | { readonly kind: 'unknown' }
  /** The content changed after the decision. */
  | { readonly kind: 'changed'; readonly since: string }
  /** The digest is `any` for declined in an older record. */
  | { readonly kind: 'trusted' | 'once' | 'declined'; readonly since: string; readonly digest: string }

/** @deprecated Use `TrustStatus`. */
export type TrustStanding = TrustStatus

export interface TrustReport {
  readonly status: TrustStatus
  /** @deprecated Use `status`. */
  readonly standing: TrustStatus
  /** Unreadable lines of the record, or the reason that it could not be read. */
  readonly diagnostics: readonly Diagnostic[]
}

/**
 * The record of decisions about projects: outside every project, and append-only. Each decision applies to one content,
 * identified by its hash. Hashing uses nothing of the project.
 */
export interface TrustLedger {
  /** Contract: rejects only if the workspace cannot be opened. An unreadable record contains no decision. */
  status(workspace: string): Promise<TrustReport>
  /** @deprecated Use `status`. */
  standing?(workspace: string): Promise<TrustReport>
  /**
   * `seen`: the digest of the content that the decision applies to. Default: the current content. Rejects with
   * TrustStoreUnavailable, or TrustScopeViolation if the record would be inside the project.
   */
  decide(workspace: string, decision: TrustDecision, seen?: string): Promise<TrustRecord>
  /** The digest of the current project layer. Uses nothing of it. */
  measure(workspace: string): Promise<string>
  /** Uses up a decision of the kind once. false if another start already did. */
  takeUp(workspace: string): Promise<boolean>
  /** The latest decision on each project, by path. */
  list(): Promise<{ readonly records: readonly TrustRecord[]; readonly diagnostics: readonly Diagnostic[] }>
}
