/** Stores a session, so that another host can continue it, as the steps of a call see it. */
export interface SessionKeeper {
  /** Stored with the next batch. */
  changed(): void
  /** Resolves when everything so far is stored. Rejects with StoreUnavailable. */
  save(): Promise<void>
}
