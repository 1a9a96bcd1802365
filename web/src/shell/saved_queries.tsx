// SPDX-License-Identifier: Apache-2.0
// saved_queries.tsx - named queries: save what is shown, open and delete.

import { useState } from 'preact/hooks';
import { deleteQuery, queries, saveQuery, stateOf } from '../state/queries';
import { linkTo, state } from '../state/store';
import { Popup } from '../widgets/popup';

export function SavedQueries() {
  const [name, setName] = useState('');
  const [failed, setFailed] = useState(false);
  const onSubmit = (event: Event) => {
    event.preventDefault();
    if (!name.trim()) return;
    setFailed(!saveQuery(name, state.peek()));
    setName('');
  };
  return (
    <Popup title="Queries" id="queries">
      <form onSubmit={onSubmit}>
        <input
          type="text"
          value={name}
          maxLength={80}
          placeholder="name of what is shown"
          aria-label="Name of the query"
          onInput={event => setName(event.currentTarget.value)}
        />
        <button type="submit" disabled={!name.trim()}>
          Save
        </button>
      </form>
      {failed && <p class="failure">This browser keeps nothing for this page.</p>}
      {queries.value.length === 0 && <p class="empty">Saved views, times and filters are listed here.</p>}
      <ul>
        {queries.value.map(query => (
          <li key={query.name}>
            <a href={linkTo(stateOf(query, state.value.trace))} data-query={query.name}>
              {query.name}
            </a>
            <button type="button" aria-label={`Delete ${query.name}`} onClick={() => deleteQuery(query.name)}>
              ✕
            </button>
          </li>
        ))}
      </ul>
    </Popup>
  );
}
