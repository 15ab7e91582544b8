/** `POST api/sign-in`. The only request of the API without a key. */
export interface SignIn {
  /** The part of the printed address after `#`. It works once, for five minutes. */
  readonly token: string
}

/** A token that is wrong, used or old is `TokenInvalid`. */
export interface SignedIn {
  /** For the header `authorization: Bearer KEY` of every other request. It ends with the server. */
  readonly key: string
  readonly about: About
}

/** `GET api/about` */
export interface About {
  /** 1. A client that does not know the version says so. */
  readonly protocol: number
  /** Of Bulkhead. */
  readonly version: string
  /** Changes with each start of the server: keys and permalinks to running calls of another one are void. */
  readonly server: string
  /** store: the sessions of every host on the store. host: those of one host. */
  readonly scope: 'host' | 'store'
  /** Whether this client may answer, switch tools and capture. false: it only reads. */
  readonly decide: boolean
  /** The folder that rules, tools and "try a call" are of. */
  readonly workspace: string
  /** The IANA name of the time zone of the server: for "until 17:00". */
  readonly timeZone: string
  readonly now: number
  /** How a person gets a fresh link. */
  readonly linkCommand: string
}

/** The body of every answer with a status of 400 or more. */
export interface InspectorFault {
  readonly error: {
    readonly code: InspectorFaultCode
    /** What happened, to what, and what to do. For people. */
    readonly message: string
    /** A JSON pointer to the part of the body that is wrong. */
    readonly path?: string
  }
}

/**
 * SignInNeeded (401): no key, or one of another server. TokenInvalid (401): the token was used, is old or wrong.
 * TooManyAttempts (429): sign-in is closed until a fresh link is printed. WrongHost (403): the host or origin of the
 * request is another. ReadOnly (403): the inspector was started without `--decide`. NotFound (404): there is no such
 * thing, or no longer. MethodNotAllowed (405). AlreadyAnswered (409): another answer came first. Changed (409): the
 * question is not the one that was shown. InputInvalid (400). TooLarge (413). Busy (503): there are too many subscribers.
 * NotSupported (501): this host, store or session cannot do it. Failed (500).
 */
export type InspectorFaultCode =
  | 'SignInNeeded' | 'TokenInvalid' | 'TooManyAttempts' | 'WrongHost' | 'ReadOnly' | 'NotFound' | 'MethodNotAllowed'
  | 'AlreadyAnswered' | 'Changed' | 'InputInvalid' | 'TooLarge' | 'Busy' | 'NotSupported' | 'Failed'
