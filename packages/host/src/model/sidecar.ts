/** Where results that are too long for a model are stored whole. */
export interface Sidecar {
  /** Resolves with the path a person can open. */
  save(sessionId: string, callId: string, text: string): Promise<string>
  /** The paths of the files a session has saved. Without it no tool can open them. */
  files?(sessionId: string): ReadonlySet<string>
  /** Removes everything a closed session saved. */
  discard?(sessionId: string): Promise<void>
}
