/** Stores a session, so that another host can continue it, as the steps of a call see it. */
export interface SessionKeeper {
  /** Stored with the next batch, or `now`: a person would have to do it again. */
  changed(when?: 'now'): void
  /** Resolves when everything so far is stored. Rejects with StoreUnavailable. */
  save(): Promise<void>
}
